"""GPT-2 folders read, held against transformers' own GPT-2, and written."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import GPT2LMHeadModel

from headlight.model import Transformer, load, save_gpt2
from headlight.model.base.errors import CheckpointError, ConfigError, HeadlightError
from headlight.model.checkpoints.reference import reference
from tests.model.oracles import ATOL, RTOL, assert_mapped, random_gpt2, random_model, random_tokens

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "untied": {"tie_word_embeddings": False},
    "relu": {"activation_function": "relu"},
    "gelu": {"activation_function": "gelu"},
    "gelu_pytorch_tanh": {"activation_function": "gelu_pytorch_tanh"},
    "silu": {"activation_function": "silu"},
    "swish": {"activation_function": "swish"},
    "odd inner size": {"n_inner": 17},
    "one head": {"n_head": 1},
    "heads of size one": {"n_head": 12},
    "three layers": {"n_layer": 3, "n_embd": 10, "n_head": 5, "vocab_size": 23},
    "large eps": {"layer_norm_epsilon": 0.1},
    "unscaled scores": {"scale_attn_weights": False},
    "scores by layer": {"scale_attn_by_inverse_layer_idx": True},
    "upcast": {"reorder_and_upcast_attn": True},
}


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS.keys())
def theirs(request: pytest.FixtureRequest) -> GPT2LMHeadModel:
    return random_gpt2(**request.param)


def saved(model: GPT2LMHeadModel, folder: Path, **how: Any) -> Path:
    model.save_pretrained(folder, **how)
    return folder


def assert_same(ours: Transformer, theirs: GPT2LMHeadModel) -> None:
    """The logits, the stream before every block and every pattern agree."""
    tokens = random_tokens()
    with torch.no_grad():
        expected = theirs(tokens, output_hidden_states=True, output_attentions=True)
    logits, cache = ours.run_with_cache(tokens)
    torch.testing.assert_close(logits, expected.logits, rtol=RTOL, atol=ATOL)
    for layer, hidden in enumerate(expected.hidden_states[:-1]):
        torch.testing.assert_close(cache["resid_pre", layer], hidden, rtol=RTOL, atol=ATOL)
    for layer, pattern in enumerate(expected.attentions):
        torch.testing.assert_close(cache["pattern", layer], pattern, rtol=RTOL, atol=ATOL)
    final = theirs.transformer.ln_f(cache["resid_post", -1])
    torch.testing.assert_close(final, expected.hidden_states[-1], rtol=RTOL, atol=ATOL)


def test_logits_and_every_layer_are_transformers_own(theirs: GPT2LMHeadModel, tmp_path: Path) -> None:
    ours = load(saved(theirs, tmp_path))
    assert_same(ours, theirs)
    assert ours.cfg.tie_word_embeddings == theirs.config.tie_word_embeddings


def test_sharded_folders_are_read(tmp_path: Path) -> None:
    theirs = random_gpt2(tie_word_embeddings=False)
    folder = saved(theirs, tmp_path, max_shard_size="5KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    ours = load(folder)
    assert_same(ours, theirs)
    assert len(ours.source.weights) == len(list(folder.glob("model-*.safetensors")))


def test_folders_of_the_bare_model_are_read(tmp_path: Path) -> None:
    """GPT2Model saves names without the prefix 'transformer.'; a tied head is read where its class is not named."""
    theirs = random_gpt2()
    theirs.transformer.save_pretrained(tmp_path)
    assert "wte.weight" in load_file(tmp_path / "model.safetensors")
    assert load(tmp_path).cfg.output == "none"
    edit_config(tmp_path, architectures=None)
    assert_same(load(tmp_path), theirs)


def edit_tensors(folder: Path, **changes: Tensor | None) -> None:
    """Replace, add or (None) remove tensors of a folder; '__' in a keyword stands for '.'."""
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in changes.items():
        tensors.pop(name.replace("__", "."), None)
        if tensor is not None:
            tensors[name.replace("__", ".")] = tensor
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def edit_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def test_mask_buffers_of_old_versions_are_passed_over(tmp_path: Path) -> None:
    theirs = random_gpt2()
    mask = torch.ones(1, 1, 10, 10).tril()
    edit_tensors(
        saved(theirs, tmp_path),
        transformer__h__0__attn__bias=mask,
        transformer__h__0__attn__masked_bias=torch.tensor(-torch.inf),
        transformer__h__1__attn__bias=mask.bool(),
    )
    assert_same(load(tmp_path), theirs)


def test_a_head_equal_to_the_embedding_is_tied_and_another_is_not(tmp_path: Path) -> None:
    theirs = random_gpt2()
    embedding = theirs.transformer.wte.weight.detach()
    edit_tensors(saved(theirs, tmp_path / "equal"), lm_head__weight=embedding.clone())
    assert load(tmp_path / "equal").cfg.tie_word_embeddings
    edit_tensors(saved(theirs, tmp_path / "other"), lm_head__weight=embedding * 2)
    ours, tokens = load(tmp_path / "other"), random_tokens()
    assert not ours.cfg.tie_word_embeddings
    torch.testing.assert_close(ours(tokens), reference(tmp_path / "other", tokens).logits, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_converted_to_float32_where_that_is_asked_for(dtype: torch.dtype, tmp_path: Path) -> None:
    theirs = random_gpt2().to(dtype)
    ours = load(saved(theirs, tmp_path), dtype="float32")
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float32}
    assert_same(ours, theirs.float())


def test_parameters_are_views_of_the_memory_mapped_file(tmp_path: Path) -> None:
    model = load(saved(random_gpt2(tie_word_embeddings=False), tmp_path))
    assert not [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    # GPT-2 has no bias of the unembedding.
    assert_mapped({name: tensor for name, tensor in model.named_parameters() if name != "unembed.b_U"}, tmp_path)
    attn = model.blocks[0].attn
    assert len({weight.untyped_storage().data_ptr() for weight in (attn.W_Q, attn.W_K, attn.W_V)}) == 1
    assert attn.W_Q.transpose(0, 1).flatten(1).data_ptr() == attn.W_Q.data_ptr()  # one matrix product without a copy


def test_writing_to_a_parameter_does_not_reach_the_file(tmp_path: Path) -> None:
    model = load(saved(random_gpt2(), tmp_path))
    before = (tmp_path / "model.safetensors").read_bytes()
    model.blocks[0].attn.W_Q.zero_()
    assert (tmp_path / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transformer__h__1__ln_1__bias": None}, r"lacks the tensors h\.1\.ln_1\.bias"),
        (
            {"transformer__h__1__attn__c_attn__weight_g": torch.ones(3)},
            r"unexpected tensors h\.1\.attn\.c_attn\.weight_g",
        ),
        ({"transformer__wpe__weight": torch.ones(9, 12)}, r"wpe\.weight is \[9, 12\], not \[10, 12\]"),
        ({"transformer__wte__weight": torch.ones(19, 12, dtype=torch.int32)}, r"float32.*wte\.weight is int32"),
        ({"transformer__wte__weight": torch.ones(19, 12, dtype=torch.float64)}, r"float32.*wte\.weight is float64"),
        ({"transformer__ln_f__bias": torch.tensor([torch.nan] + [0.0] * 11)}, r"NaN or infinite values in ln_f\.bias"),
        (
            {"transformer__ln_f__weight": torch.tensor([0.0] * 11 + [-torch.inf])},
            r"NaN or infinite values in ln_f\.weight",
        ),
        ({"wte__weight": torch.ones(19, 12)}, r"wte\.weight with and without the prefix"),
    ],
)
def test_wrong_tensors_are_refused_by_name(changes: dict[str, Tensor | None], message: str, tmp_path: Path) -> None:
    edit_tensors(saved(random_gpt2(), tmp_path), **changes)
    with pytest.raises(CheckpointError, match=message):
        load(tmp_path)


def test_only_the_first_few_of_many_wrong_tensors_are_named(tmp_path: Path) -> None:
    saved(random_gpt2(), tmp_path)
    edit_config(tmp_path, n_layer=3)
    read = r"Read from config\.json, model\.safetensors\."
    with pytest.raises(CheckpointError, match=rf"the tensors (h\.2\.[\w.]+, ){{4}}h\.2\.[\w.]+ and 7 more\. {read}$"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation_function": "gelu_10"}, "asks for the activation 'gelu_10'; supported are relu, relu2, gelu"),
        ({"activation_function": ["gelu"]}, "asks for the activation"),
        ({"add_cross_attention": True}, "add_cross_attention to true, which changes what.*supported is false"),
        ({"quantization_config": {"bits": 4}}, r"quantised by an unknown method, which is not read"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
        ({"n_head": 5}, "n_embd to 12 and n_head to 5; n_head must divide n_embd"),
        ({"n_head": 0}, "n_head must divide n_embd"),
        ({"n_embd": "12"}, "n_head must divide n_embd"),
        ({"n_layer": -1}, "n_layers is -1"),
        ({"n_positions": None}, "n_ctx is None"),
        ({"layer_norm_epsilon": float("nan")}, "eps is nan"),
        (
            {"scale_attn_by_inverse_layer_idx": "no"},
            'scale_attn_by_inverse_layer_idx to "no", .*supported is true or false',
        ),
        ({"tie_word_embeddings": None}, "tie_word_embeddings to null"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_settings_that_are_not_supported_are_refused_by_name(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    saved(random_gpt2(), tmp_path)
    edit_config(tmp_path, **changes)
    with pytest.raises(ConfigError, match=message):
        load(tmp_path)


@pytest.mark.parametrize("name", ["n_layer", "n_positions", "vocab_size", "n_inner"])
@pytest.mark.parametrize("size", [10**9, 10**30])
def test_no_memory_is_taken_on_the_word_of_a_config(name: str, size: int, tmp_path: Path) -> None:
    saved(random_gpt2(), tmp_path)
    edit_config(tmp_path, **{name: size})
    with pytest.raises(HeadlightError, match=f"{size}"):
        load(tmp_path)


MODELS: dict[str, dict[str, Any]] = {
    "tied": {"tie_word_embeddings": True},
    "untied": {},
    "relu": {"act_fn": "relu"},
    "unscaled scores": {"attn_scale": 1.0},
    "scores by layer": {"scale_attn_by_inverse_layer_idx": True, "eps": 1e-3},
}


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())
def test_a_saved_model_is_transformers_own(settings: dict[str, Any], tmp_path: Path) -> None:
    ours, tokens = random_model(d_head=4, **settings), random_tokens()
    if not ours.cfg.tie_word_embeddings:
        torch.nn.init.zeros_(ours.unembed.b_U)
    save_gpt2(ours, tmp_path)
    theirs, info = GPT2LMHeadModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values())
    with torch.no_grad():
        torch.testing.assert_close(ours(tokens), theirs(tokens).logits, rtol=RTOL, atol=ATOL)
    again = load(tmp_path)
    assert again.cfg == ours.cfg
    assert torch.equal(again(tokens), ours(tokens))
    torch.testing.assert_close(reference(tmp_path, tokens).logits, ours(tokens), rtol=RTOL, atol=ATOL)


def test_a_saved_model_is_readable_by_whoever_may_read_its_config(tmp_path: Path) -> None:
    save_gpt2(random_model(d_head=4, tie_word_embeddings=True), tmp_path)
    assert (tmp_path / "model.safetensors").stat().st_mode == (tmp_path / "config.json").stat().st_mode


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attn_only": True, "d_mlp": None}, "attn_only = True"),
        ({"normalization_type": "LNPre"}, "normalization_type = 'LNPre'"),
        ({"attention_dir": "bidirectional"}, "attention_dir = 'bidirectional'"),
        ({"d_vocab_out": 7}, "d_vocab_out = 7"),
        ({"d_head": 5}, r"n_heads \* d_head = 15; it can be 12"),
        ({"attn_scale": 3.0}, "attn_scale = 3.0"),
        ({}, "unembedding bias = True"),
    ],
)
def test_what_no_gpt2_has_cannot_be_saved_as_one(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        save_gpt2(random_model(**({"d_head": 4} | settings)), tmp_path / "model")
    assert not (tmp_path / "model").exists()
