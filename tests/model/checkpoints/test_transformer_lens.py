"""State dicts of TransformerLens: what shapes tell is inferred, what they cannot tell is asked for."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from headlight.model import Transformer, load
from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.checkpoints.lens_reference import lens_reference
from headlight.model.checkpoints.loading import named_with, parted
from headlight.model.text.id_tokenizer import IdTokenizer
from tests.model.lens.lens_twin import HookedTransformer, HookedTransformerConfig, lens_twin
from tests.model.oracles import ASKED, ATOL, RTOL, VARIANTS, assert_mapped, random_model, random_tokens

TOLD_BY_SHAPES = {"d_vocab_out", "attn_only", "d_mlp"}
REST = r'positional_embedding_type="standard", attn_scale=None, window_size=None\), each as .* "shortformer".*eps'
PARALLEL = {"parallel_attn_mlp": True, "normalization_type": "LNPre"}  # whose norms have no parameters to tell it
NAMES = "positional_embedding_type, attn_scale, window_size"


def asked_for(model: Transformer, settings: dict[str, Any]) -> dict[str, Any]:
    """What load has to be told about a model of these settings."""
    answers = ASKED | {name: value for name, value in settings.items() if name not in TOLD_BY_SHAPES}
    answers.pop("tie_word_embeddings", None)
    if model.cfg.attn_only:
        del answers["act_fn"]
    return answers


def lens_state(model: Transformer) -> dict[str, Tensor]:
    """What TransformerLens saves, the buffers of its masks included."""
    return lens_twin(model).state_dict()


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS.keys())
def test_saved_state_dicts_are_opened(settings: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    model, tokens, path = random_model(**settings), random_tokens(), tmp_path / f"toy{suffix}"
    twin = lens_twin(model)
    if suffix == ".pt":
        torch.save(twin.state_dict(), path)
    else:
        save_file({name: tensor.contiguous() for name, tensor in twin.state_dict().items()}, path)
    loaded = load(path, **asked_for(model, settings))
    torch.testing.assert_close(loaded(tokens), twin(tokens), rtol=RTOL, atol=ATOL)
    assert (loaded.source.family, type(loaded.tokenizer)) == ("transformer_lens", IdTokenizer)
    torch.testing.assert_close(lens_reference(path, loaded.cfg, tokens).logits, twin(tokens), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_our_own_tied_state_dict_is_opened(suffix: str, tmp_path: Path) -> None:
    model, tokens, path = random_model(tie_word_embeddings=True), random_tokens(), tmp_path / f"toy{suffix}"
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    torch.save(state, path) if suffix == ".pt" else save_file(state, path)
    loaded = load(path, **ASKED)
    assert loaded.cfg == model.cfg
    torch.testing.assert_close(loaded(tokens), model(tokens), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_parameters_are_views_of_the_memory_mapped_file(suffix: str, tmp_path: Path) -> None:
    path, state = tmp_path / f"toy{suffix}", lens_state(random_model())
    torch.save(state, path) if suffix == ".pt" else save_file(state, path)
    loaded = load(path, **ASKED)
    assert_mapped(dict(loaded.named_parameters()), path)
    assert not [name for name, parameter in loaded.named_parameters() if parameter.requires_grad]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, rf'act_fn, attention_dir, {NAMES}\. Say so: load\(path, act_fn="relu", attention_dir="causal", {REST}'),
        (
            {"normalization_type": "LNPre"},
            rf"act_fn, normalization_type, attention_dir, {NAMES}\. Say so: "
            rf'load\(path, act_fn="relu", normalization_type="LNPre", attention_dir="causal", {REST}',
        ),
        (
            {"attn_only": True, "d_mlp": None},
            rf'attention_dir, {NAMES}\. Say so: load\(path, attention_dir="causal", {REST}',
        ),
    ],
)
def test_what_shapes_cannot_tell_is_asked_for_by_name(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    save_file(lens_state(random_model(**settings)), tmp_path / "toy.safetensors")
    with pytest.raises(ConfigError, match=rf"shapes in toy\.safetensors do not tell {message}"):
        load(tmp_path / "toy.safetensors")


def test_half_precision_is_converted_to_float32_where_that_is_asked_for(tmp_path: Path) -> None:
    state = {name: tensor.half() for name, tensor in random_model().state_dict().items()}
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, tmp_path / "toy.safetensors")
    loaded = load(tmp_path / "toy.safetensors", dtype="float32", **ASKED)
    assert all(torch.equal(parameter, state[name].float()) for name, parameter in loaded.named_parameters())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"blocks.1.mlp.b_in": None}, r"lacks the tensors blocks\.1\.mlp\.b_in"),
        ({"blocks.0.mlp.W_gate": torch.ones(12, 31)}, r"unexpected tensors blocks\.0\.mlp\.W_gate"),
        ({"blocks.0.attn.rotary_sin": torch.ones(10, 4)}, r"unexpected tensors blocks\.0\.attn\.rotary_sin"),
        ({"blocks.1.attn.W_O": torch.ones(3, 4, 12)}, r"blocks\.1\.attn\.W_O is \[3, 4, 12\], not \[3, 5, 12\]"),
        ({"blocks.1.attn.b_O": torch.full((12,), torch.inf)}, r"NaN or infinite values in blocks\.1\.attn\.b_O"),
        ({"embed.W_E": torch.ones(19, 12, dtype=torch.int8)}, r"embed\.W_E is int8"),
        ({"embed.W_E": torch.ones(19)}, r"embed\.W_E has shape \[19\]; it needs 2 axes"),
        ({"pos_embed.W_pos": None}, r"no pos_embed\.W_pos.*Hugging Face model by its folder"),
        ({"blocks.999999999.attn.W_Q": torch.ones(1)}, "lacks the tensors"),
        ({"ln_final.b": None}, r"lacks the tensors ln_final\.b"),
    ],
)
def test_wrong_tensors_are_refused_by_name(changes: dict[str, Tensor | None], message: str, tmp_path: Path) -> None:
    state = {name: tensor for name, tensor in (lens_state(random_model()) | changes).items() if tensor is not None}
    save_file(state, tmp_path / "toy.safetensors")
    with pytest.raises(CheckpointError, match=message):
        load(tmp_path / "toy.safetensors", **ASKED)


@pytest.mark.parametrize(("name", "axis"), [("embed.W_E", 0), ("blocks.0.attn.W_Q", 0), ("pos_embed.W_pos", 0)])
def test_an_axis_of_no_length_is_refused(name: str, axis: int, tmp_path: Path) -> None:
    state = lens_state(random_model())
    state[name] = state[name].narrow(axis, 0, 0).contiguous()
    save_file(state, tmp_path / "toy.safetensors")
    with pytest.raises(ConfigError, match="is 0; it has to be a whole number of at least 1"):
        load(tmp_path / "toy.safetensors", **ASKED)


@pytest.mark.parametrize(
    ("theirs", "answers"),
    [
        ({}, {}),
        ({"use_attn_scale": False}, {"attn_scale": 1.0}),
        ({"attn_scale": 3.0}, {"attn_scale": 3.0}),
        ({"use_local_attn": True, "window_size": 3, "attn_types": ["local"] * 2}, {"window_size": 3}),
        (
            {"use_local_attn": True, "window_size": 2, "attn_types": ["global", "local"]},
            {"window_size": 2, "attn_types": ("global", "local")},
        ),
        ({"scale_attn_by_inverse_layer_idx": True}, {"scale_attn_by_inverse_layer_idx": True}),
        ({"eps": 0.1}, {"eps": 0.1}),
        ({"positional_embedding_type": "alibi"}, {"positional_embedding_type": "alibi"}),
        ({"attention_dir": "bidirectional"}, {"attention_dir": "bidirectional"}),
        ({"normalization_type": None}, {"normalization_type": None}),
        ({"normalization_type": "RMS"}, {}),
        ({"attn_only": False, "d_mlp": 20, "act_fn": "silu"}, {"act_fn": "silu"}),
        (
            PARALLEL | {"attn_only": False, "d_mlp": 20, "act_fn": "relu"},
            PARALLEL | {"act_fn": "relu"},
        ),
    ],
)
def test_each_answer_gives_the_logits_of_a_model_that_was_trained_so(
    theirs: dict[str, Any], answers: dict[str, Any], tmp_path: Path
) -> None:
    """Models of one shape that compute differently, as TransformerLens computes them."""
    sizes = {"n_layers": 2, "d_model": 16, "n_ctx": 12, "d_head": 8, "n_heads": 2, "d_vocab": 30}
    cfg = HookedTransformerConfig(**(sizes | {"attn_only": True, "normalization_type": "LN", "device": "cpu"} | theirs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of HookedTransformer, which is the oracle here
        twin = HookedTransformer(cfg)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    torch.save(twin.state_dict(), tmp_path / "toy.pt")
    tokens = torch.randint(30, (1, 12), generator=generator)
    all_answers = {name: each for name, each in ASKED.items() if name != "act_fn"} | answers
    loaded = load(tmp_path / "toy.pt", **all_answers)
    torch.testing.assert_close(loaded(tokens), twin(tokens), rtol=RTOL, atol=ATOL)


def test_positions_added_to_queries_and_keys_alone_are_refused(tmp_path: Path) -> None:
    torch.save(lens_state(random_model()), tmp_path / "toy.pt")
    with pytest.raises(ConfigError, match=r"queries and keys alone \(shortformer\), which is not supported"):
        load(tmp_path / "toy.pt", **(ASKED | {"positional_embedding_type": "shortformer"}))


@pytest.mark.parametrize("answers", [{}, ASKED])
def test_the_state_dict_of_a_bridge_is_named_with_the_way_out(answers: dict[str, str], tmp_path: Path) -> None:
    names = ("embed.weight", "pos_embed.weight", "blocks.0.attn.q.weight", "blocks.0.mlp.in.weight", "unembed.weight")
    torch.save({name: torch.ones(2, 2) for name in names}, tmp_path / "bridge.pt")
    with pytest.raises(CheckpointError, match=r"TransformerBridge.*bridge\.original_model\.save_pretrained\(folder\)"):
        load(tmp_path / "bridge.pt", **answers)


def test_settings_may_stand_behind_the_name(tmp_path: Path) -> None:
    """As a page's address and a command's argument have them."""
    model, path = random_model(window_size=3, attn_types=("local", "global")), tmp_path / "toy.safetensors"
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, path)
    settings = ASKED | {"window_size": 3, "attn_types": ("local", "global")}
    name = named_with(str(path), settings)
    assert name.endswith('&attn_scale=null&window_size=3&attn_types=["local","global"]')
    loaded = load(name)
    assert loaded.cfg == model.cfg
    assert (loaded.source.name, loaded.source.path) == (name, path)
    assert load(name, window_size=4).cfg.window_size == 4
    assert parted(f"{path}?act_fn=relu") == (str(path), {"act_fn": "relu"})
    assert parted("mini") == ("mini", {})
    with pytest.raises(ConfigError, match="no setting 'windows'"):
        load(f"{path}?windows=3")
    odd = path.rename(tmp_path / "toy?a=b.safetensors")
    assert load(odd, **settings).cfg == model.cfg


def test_attention_within_a_window_is_refused_where_a_stored_mask_shows_it(tmp_path: Path) -> None:
    state = lens_state(random_model())
    causal = torch.ones(10, 10).tril().bool()
    save_file(state | {"blocks.1.attn.mask": causal}, tmp_path / "global.safetensors")
    assert load(tmp_path / "global.safetensors", **ASKED).cfg.n_layers == 2
    save_file(state | {"blocks.1.attn.mask": causal.triu(-3)}, tmp_path / "local.safetensors")
    with pytest.raises(ConfigError, match=r"blocks\.1\.attn\.mask is no causal mask.*give it as window_size"):
        load(tmp_path / "local.safetensors", **ASKED)


class Intruder:
    """Unpickled without care, this creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_runs_no_code(tmp_path: Path) -> None:
    path, trace = tmp_path / "toy.pt", tmp_path / "trace"
    torch.save({"embed.W_E": Intruder(trace)}, path)
    with pytest.raises(CheckpointError, match=r"toy\.pt holds no state dict but embed\.W_E") as refusal:
        load(path, **ASKED)
    assert str(refusal.value).isprintable()  # torch's own text has escape codes, and says how to run the code
    assert "weights_only" not in str(refusal.value)
    assert not trace.exists()
    torch.load(path, weights_only=False)
    assert trace.exists()  # it would have


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as a state dict"),
        (b"no zip file", "cannot be read as a state dict"),
        (pickle.dumps({"embed.W_E": [1.0]}), "cannot be read as a state dict"),
    ],
)
def test_what_is_no_state_dict_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "toy.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        load(tmp_path / "toy.pt")


@pytest.mark.parametrize(
    "content",
    [
        [torch.ones(1)],
        {"model": {"embed.W_E": [2, 2]}, "step": 3},
        {"embed.W_E": torch.eye(19).to_sparse()},
        {"embed.W_E": torch.ones(19, 12, device="meta")},
    ],
)
def test_other_things_that_torch_saves_are_refused(content: object, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "toy.pt")
    with pytest.raises(CheckpointError, match=r"(no state dict but|it holds other objects) .*model\.state_dict\(\)"):
        load(tmp_path / "toy.pt")


def test_a_truncated_pickle_is_refused(tmp_path: Path) -> None:
    torch.save(lens_state(random_model()), tmp_path / "whole.pt")
    whole = (tmp_path / "whole.pt").read_bytes()
    (tmp_path / "toy.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match=r"toy\.pt cannot be read"):
        load(tmp_path / "toy.pt", **ASKED)


def test_pickles_can_be_shut_out(tmp_path: Path) -> None:
    torch.save(lens_state(random_model()), tmp_path / "toy.pt")
    with pytest.raises(CheckpointError, match=r"toy\.pt is a pickle, which is not opened here"):
        load(tmp_path / "toy.pt", allow_pickle=False, **ASKED)
