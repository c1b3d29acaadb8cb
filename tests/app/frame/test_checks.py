"""What the trust panel measures, against what it must find, and against what it must not overlook."""

import json
import re
import shutil
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest

from headlight.app.frame import checks, trust
from headlight.app.runs import models, runs
from headlight.app.server import settings as settings_module
from headlight.model.base import memory
from headlight.model.base.errors import ConfigError, InputError, TooLargeError
from headlight.model.checkpoints import lens_reference
from headlight.model.checkpoints import reference as reference_module
from headlight.model.checkpoints.loading import named_with
from headlight.model.checkpoints.reference import reference
from headlight.model.compute.backend import measured
from headlight.model.runs.edits import AblateHeads, Edit, Patch, Steer
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run
from headlight.model.text.chat import Begin
from tests.model.checkpoints import test_gguf
from tests.model.checkpoints.gguf_files import KIND, write_gguf
from tests.model.checkpoints.quantised_folders import KINDS, write
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import random_model
from tests.places import MAIN, MINI
from tests.tiny import save_tiny

PROMPT = "one two three one two three"
ROUNDING = 2**-23  # float32's relative step


def test_the_product_is_as_exact_as_float32_sums_are() -> None:
    product = checks.product()
    # Between a hundredth of a step of the largest entry, and the bound of a sum of 768 terms added one by one.
    assert ROUNDING / 100 < product.error < 768 * ROUNDING
    assert product.name in [each.name for each in measured()]
    assert product.gflops > 0
    assert checks.precision() == "highest"


def test_a_runs_sums_add_up_to_rounding(run: Run) -> None:
    sums = checks.sums(run)
    assert sums.components.unit == "activation"
    # Eight numbers of size 1 added in another order, and weights that a softmax divided by their sum.
    assert 0 <= sums.components.values < 1e-5
    assert 0 < sums.rows.values < 1e-5


def test_a_component_that_is_off_is_found(run: Run) -> None:
    """The final residual comes from a pass of its own, not from the components."""
    kept = run.cache["mlp_out", 1].clone()
    with torch.inference_mode():
        run.cache["mlp_out", 1].add_(0.5)
        error = float(checks.sums(run).components.values)
        run.cache["mlp_out", 1].copy_(kept)
    assert abs(error - 0.5) < 1e-5  # rounding, as above


def by_hand(made: Run) -> torch.Tensor:
    """What all parts write, summed in numpy's float64 head by head; each head's z is its pattern times its values."""
    total = made.cache["embed"].double() + made.cache["pos_embed"]
    for layer in range(made.cfg.n_layers):
        attn = made.model.blocks[layer].attn
        for head in range(made.cfg.n_heads):
            z = attend(made, layer, head).pattern.double() @ made.cache["v", layer][:, head].double()
            total = total + z @ attn.W_O[head].double()
        total = total + attn.b_O + made.cache["mlp_out", layer]
    return total.detach()


def test_components_are_the_heads_themselves(run: Run) -> None:
    *_, final = run.streams()
    expected = float((by_hand(run) - final).abs().max())
    sums = checks.sums(run)
    assert 0 < sums.components.values < 1e-5
    # The pattern by hand was rounded to float32 on another way.
    assert abs(float(sums.components.values) - expected) < 1e-6
    assert sums.largest == pytest.approx(float(final.abs().max()))
    assert checks.summed(run) == "15 heads, 3 MLPs, 2 embeddings, in float64"


def test_a_wrong_output_matrix_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass has the right one: the sum of heads is not what attention wrote."""
    right = run.model.get_parameter("blocks.1.attn.W_O").detach()
    wrong = {"blocks.1.attn.W_O": torch.cat([right[:2], 2 * right[2:3], right[3:]])}
    own = run.model.get_parameter
    monkeypatch.setattr(run.model, "get_parameter", lambda name: wrong[name] if name in wrong else own(name))
    z = attend(run, 1, 2).pattern @ run.cache["v", 1][:, 2]
    assert float(checks.sums(run).components.values) == pytest.approx(float((z @ right[2]).abs().max()), rel=1e-3)


@pytest.mark.parametrize(
    "edit",
    [
        Steer(1, "one two", "two", -1.5),
        AblateHeads(((0, 1), (2, 3)), "zero"),
        Patch("blocks.1.attn.hook_result", " three two one"),
        Patch("blocks.2.hook_attn_out", " three two one"),
        Patch("blocks.1.hook_resid_mid", " three two one"),
    ],
)
def test_sums_of_an_edited_run_add_up_too(folder: str, settings: dict[str, object], edit: Edit) -> None:
    edited = runs.run(folder, PROMPT, True, (edit,))
    assert 0 < float(checks.sums(edited).components.values) < 1e-5
    kept = edited.cache["mlp_out", 2].clone()  # after every edit: what is off before one is taken for the edit's
    with torch.inference_mode():
        edited.cache["mlp_out", 2].add_(0.5)
        assert float(checks.sums(edited).components.values) > 0.4
        edited.cache["mlp_out", 2].copy_(kept)


def test_logits_are_those_of_transformers(folder: str, settings: dict[str, object]) -> None:
    # Float32 sums in another order, of logits and entries of size 1.
    differences = checks.differences_from_transformers(runs.run(folder, PROMPT, True))
    assert differences.patterns is not None
    assert 0 < max(differences.logits, differences.streams, differences.patterns) < 1e-4


@pytest.mark.parametrize("bos", [True, False, "bos_literal"])
def test_ids_that_are_not_transformers_own_are_found(folder: str, settings: dict[str, object], bos: Begin) -> None:
    made = runs.run(folder, "one <|endoftext|> two", bos)
    assert checks.differences_from_transformers(made).other_ids is None
    differences = checks.differences_from_transformers(replace(made, tokens=made.tokens.flip(0)))
    assert differences.other_ids == tuple(made.tokens.tolist())


def test_patterns_that_would_take_too_much_memory_are_left_out(
    folder: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MAX_PATTERNS", 1)
    assert checks.differences_from_transformers(runs.run(folder, PROMPT, True)).patterns is None


def test_a_model_that_computes_something_else_is_found(
    folder: str, settings: dict[str, object], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    made = runs.run(str(copy), PROMPT, True)
    tensors = load_file(copy / "model.safetensors")
    tensors["transformer.ln_f.bias"] = tensors["transformer.ln_f.bias"] + 1
    (copy / "model.safetensors").unlink()  # a file of its own, so that the open model keeps what it has
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    assert checks.differences_from_transformers(made).logits > 1e-2


def test_what_transformers_cannot_open_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.model, "source", replace(run.source, family="transformer_lens"))
    with pytest.raises(InputError, match="only check its own folders"):
        checks.differences_from_transformers(run)


@pytest.fixture
def rounded(folder: str, settings: dict[str, object]) -> Run:
    """A run of a model that is kept in bfloat16, of a file in float32."""
    settings["dtype"] = "bfloat16"
    return runs.run(folder, " ".join(["one two three four"] * 20), True)


def test_the_error_of_a_rounded_model_is_that_of_its_files_own_values(rounded: Run) -> None:
    """transformers reads the same file in float32; the tokens behind the first 64 change nothing before them."""
    assert len(rounded.tokens) > checks.MAX_COMPARED
    assert (checks.kept_in(rounded), checks.stored_in(rounded.source)) == (("bfloat16",), ("float32",))
    differences = checks.differences_from_float32(rounded)
    first = rounded.tokens[None, : checks.MAX_COMPARED]
    theirs = reference(rounded.source.path, first)
    with torch.inference_mode():
        ours = rounded.model(first)
    assert differences.logits == pytest.approx(float((ours - theirs.logits).abs().max()), rel=1e-3)  # float32 sums
    assert differences.largest == pytest.approx(float(theirs.logits.abs().max()), rel=1e-5)
    assert differences.patterns is not None
    assert 2**-12 < differences.streams < 2**-4  # bfloat16's rounding is 2^-9, of each of the matrices on the way
    assert differences.patterns > 2**-12


def test_a_model_kept_as_it_is_stored_computes_what_float32_does(tmp_path: Path, settings: dict[str, object]) -> None:
    save_tiny("llama in halves", tmp_path)
    made = runs.run(str(tmp_path), PROMPT, True)
    assert checks.kept_in(made) == checks.stored_in(made.source) == ("bfloat16",)
    differences = checks.differences_from_float32(made)
    # Float32 sums of the same numbers in another order.
    assert max(differences.logits / differences.largest, differences.streams, differences.patterns or 0.0) < 2e-5
    with torch.no_grad():  # what is computed is not what the file holds
        made.model.get_parameter("blocks.1.attn.W_O").mul_(1.01)
    assert checks.differences_from_float32(made).streams > 1e-4


def test_what_takes_too_much_memory_in_float32_is_said(rounded: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: 1000)
    for measure in (checks.differences_from_float32, checks.differences_from_transformers):
        with pytest.raises(TooLargeError, match=r"and 0\.0 GB are free"):
            measure(rounded)


def test_edits_are_left_out_of_comparisons(folder: str, settings: dict[str, object]) -> None:
    edited = runs.run(folder, PROMPT, True, (AblateHeads(((0, 1),), "zero"),))
    for measure in (checks.differences_from_float32, checks.differences_from_transformers):
        with pytest.raises(InputError, match="Check run A, which has none"):
            measure(edited)


@pytest.fixture
def panel(settings: dict[str, object], folder: str) -> AppTest:
    """The page with the panel open."""
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params["prompt"] = PROMPT
    page.session_state["headlight.aboutA"] = True
    return page.run()


def test_the_panel_says_what_computed_the_numbers(panel: AppTest, folder: str) -> None:
    texts = " ".join(block.value for block in panel.code)
    run = runs.run(folder, PROMPT, True)
    for said in (folder, run.source.sha256, "float32", f"cpu, {torch.get_num_threads()}", "GFLOP/s"):
        assert said in texts
    assert " ".join(map(str, run.tokens.tolist())) in texts


def test_the_panel_says_what_of_a_config_is_not_read_and_compares_a_decoder_of_both_directions(
    settings: dict[str, object], folder: str, tmp_path: Path
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text()) | {"is_causal": False, "partial_rotary_factor": 0.5}
    (copy / "config.json").write_text(json.dumps(config))
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params["prompt"], page.query_params["model"] = PROMPT, str(copy)
    page.session_state["headlight.aboutA"] = True
    page.run()
    texts = _codes(page)
    assert re.search(r"in config.json, not read +partial_rotary_factor = 0\.5\n", texts)
    assert re.search(r"activation, attention +\w+, bidirectional", texts)
    off = re.search(r"transformers' logits +(\S+) at most", texts)
    assert off is not None
    assert float(off[1].replace("−", "-")) < 1e-4  # float32 sums in another order, of logits of size 1


def _click(page: AppTest, label: str) -> None:
    next(button for button in page.button if button.label == label).click()
    page.run()
    assert not page.exception


def test_the_panel_tells_the_dtypes_and_measures_what_rounding_does(
    settings: dict[str, object], folder: str, panel: AppTest
) -> None:
    assert "float32, as in the files" in _codes(panel)
    assert not [button for button in panel.button if button.label == "Compare with float32"]
    settings["dtype"] = "bfloat16"
    for cached in (settings_module.settings, runs._results, models._opened):
        cached.cache_clear()
    panel.run()
    assert "bfloat16; the files hold float32" in _codes(panel)
    _click(panel, "Compare with float32")
    assert re.search(r"float32's logits +\d\.\de−\d\d at most, on the first 7 tokens, of logits up to", _codes(panel))


def test_the_panel_tells_how_far_quantised_weights_are_from_the_model_beside_them(
    settings: dict[str, object], tmp_path: Path
) -> None:
    write(tmp_path / "one", KINDS["AWQ"]).save_pretrained(tmp_path / "one-unquantised")
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params["prompt"], page.query_params["model"] = "ids: 1 2 3", str(tmp_path / "one")
    page.session_state["headlight.aboutA"] = True
    page.run()
    assert not page.exception
    assert re.search(r"stored as +AWQ, 4 bits and float32, as in the files", _codes(page))
    assert re.search(r"^opened {21}a quantised folder \(AWQ.*\n {27}.* used$", page.code[0].value, re.MULTILINE)
    assert re.search(r"opened +a quantised folder \(AWQ, 4 bits\), dequantised to float32 where", _codes(page))
    assert not [button for button in page.button if button.label == "Compare with float32"]
    _click(page, "Compare with the unquantised model")
    assert re.search(r"unquantised model +one-unquantised", _codes(page))
    off = re.search(r"logits − its logits +(\S+) at most", _codes(page))
    assert off is not None
    assert float(off[1].replace("−", "-")) < 1e-4  # the same numbers, in float32 sums of another order
    _click(page, "Compare with transformers")
    assert any("transformers computes with awq weights only by that" in text.value for text in page.text)


@pytest.mark.parametrize("kind", ["GGUF", "folder"])
def test_what_came_without_a_tokenizer_is_compared_with_transformers(
    kind: str, settings: dict[str, object], tmp_path: Path
) -> None:
    theirs, path = test_gguf.noisy("llama"), tmp_path / ("model.gguf" if kind == "GGUF" else "folder")
    if kind == "GGUF":
        write_gguf(path, "llama", theirs, KIND.Q8_0)
    else:
        theirs.save_pretrained(path)
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params["prompt"], page.query_params["model"] = "ids: 1 2 3 4 5 6 7", str(path)
    page.session_state["headlight.aboutA"] = True
    page.run()
    _click(page, "Compare with transformers")
    off = re.search(r"logits − transformers' logits +(\S+) at most", _codes(page))
    assert off is not None
    assert float(off[1].replace("−", "-")) < 1e-4  # float32 sums in another order
    assert "transformers' own" not in _codes(page)  # it has no ids of such a prompt


def test_large_weights_are_hashed_on_request(
    settings: dict[str, object], folder: str, panel: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = runs.run(folder, PROMPT, True).source.sha256
    models._opened.cache_clear()
    runs._results.cache_clear()
    monkeypatch.setattr(trust, "UNASKED", 1)
    panel.run()
    assert sha not in _codes(panel)
    _click(panel, "Hash the weights")
    assert _codes(panel).count(sha) == 1
    panel.run()
    assert _codes(panel).count(sha) == 1
    assert not [button for button in panel.button if button.label == "Hash the weights"]


def _codes(page: AppTest) -> str:
    """The panel's lines, with what goes on below a long one behind it again."""
    return re.sub(r"\n +", " ", "\n".join(block.value for block in page.code))


def test_the_panel_checks_the_sums_on_request(panel: AppTest) -> None:
    assert "attention rows" not in _codes(panel)
    _click(panel, "Check the sums")
    assert "attention rows" in _codes(panel)


def test_the_panel_compares_with_transformers_unasked_what_is_small_and_the_users_own(
    panel: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _codes(panel).count("transformers' logits") == 1
    monkeypatch.setattr(trust, "UNASKED", 1)
    runs._results().drop(lambda kept: isinstance(kept, checks.Differences))
    panel.run()
    assert "transformers' logits" not in _codes(panel)
    _click(panel, "Compare with transformers")
    assert "transformers' logits" in _codes(panel)


def _adapter(folder: Path, base: str) -> dict[str, torch.Tensor]:
    """Write a LoRA of layer 1's queries, keys and values as peft does."""
    folder.mkdir()
    d_in, d_out = load_file(Path(base) / "model.safetensors")["transformer.h.1.attn.c_attn.weight"].shape
    halves = {"A": torch.randn(2, d_in), "B": torch.randn(d_out, 2)}
    name = "base_model.model.transformer.h.1.attn.c_attn.lora_{}.weight"
    save_file({name.format(half): tensor for half, tensor in halves.items()}, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 3, "base_model_name_or_path": str(Path(base).absolute())}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return halves


@pytest.fixture
def peft(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A stand-in for peft, which is no dependency: it adds the product of c_attn's halves at the scale given."""
    added = {"scale": 3 / 2}

    def from_pretrained(model: Any, folder: Path) -> SimpleNamespace:
        into, out = load_file(folder / "adapter_model.safetensors").values()
        weight = model.get_submodule("transformer.h.1.attn.c_attn").weight
        weight.data += added["scale"] * torch.einsum("ri,or->io", into, out)
        return SimpleNamespace(get_base_model=lambda: model)

    module = ModuleType("peft")
    module.__spec__ = ModuleSpec("peft", None)
    module.PeftModel = SimpleNamespace(from_pretrained=from_pretrained)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "peft", module)
    return added


def test_an_adapter_is_held_against_peft_on_transformers_own_base(
    folder: str, settings: dict[str, object], tmp_path: Path, peft: dict[str, float]
) -> None:
    _adapter(tmp_path / "adapter", folder)
    made = runs.run(str(tmp_path / "adapter"), PROMPT, True)
    assert checks.has_reference(made)
    differences = checks.differences_from_transformers(made)
    assert differences.other_ids is None  # the base's tokenizer
    assert 0 < max(differences.logits, differences.streams) < 1e-4  # as above
    peft["scale"] = 3.0
    assert checks.differences_from_transformers(made).logits > 1e-2


def test_without_peft_an_adapters_comparison_says_what_it_needs(
    folder: str, settings: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference_module, "find_spec", lambda name: None)
    _adapter(tmp_path / "adapter", folder)
    made = runs.run(str(tmp_path / "adapter"), PROMPT, True)
    assert not checks.has_reference(made)  # so that it is not measured unasked
    with pytest.raises(ConfigError, match="pip install peft"):
        checks.differences_from_transformers(made)


LENS_SETTINGS = {
    "plain": {},
    "no gains, no MLP": {"normalization_type": "LNPre", "attn_only": True, "d_mlp": None},
    "a window in one layer": {"window_size": 3, "attn_types": ("global", "local")},
    "other scores": {"attn_scale": 3.0, "scale_attn_by_inverse_layer_idx": True, "eps": 0.1},
    "both directions": {"attention_dir": "bidirectional", "normalization_type": "RMS"},
    "parallel": {"parallel_attn_mlp": True, "parallel_norms": 2},
    "tied": {"tie_word_embeddings": True},
}


def _state_dict(folder: Path, **settings: Any) -> str:
    """The name, settings included, of a file that TransformerLens wrote (ours if tied), with a tokenizer beside it."""
    model = random_model(n_layers=2, n_ctx=16, d_vocab=4096, **settings)
    state = (model if model.cfg.tie_word_embeddings else lens_twin(model)).state_dict()
    path = folder / "toy.safetensors"
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, path)
    for file in MINI.glob("tokenizer*.json"):
        shutil.copy(file, folder)
    settings_read = (
        "act_fn",
        "normalization_type",
        "attention_dir",
        "positional_embedding_type",
        "attn_scale",
        "window_size",
    )
    return named_with(str(path), {name: getattr(model.cfg, name) for name in settings_read} | settings)


@pytest.mark.parametrize("changes", LENS_SETTINGS.values(), ids=LENS_SETTINGS.keys())
def test_a_state_dict_is_held_against_transformer_lens(
    changes: dict[str, Any], settings: dict[str, object], tmp_path: Path
) -> None:
    made = runs.run(_state_dict(tmp_path, **changes), PROMPT, False)
    assert checks.has_reference(made)
    error = checks.differences_from_transformer_lens(made)
    assert error.other_ids is None
    assert error.patterns is not None
    assert 0 < max(error.logits / error.largest, error.streams, error.patterns) < 2e-5  # float32 sums in another order


@pytest.mark.parametrize(
    "wrong",
    [
        {"act_fn": "relu"},
        {"attention_dir": "bidirectional"},
        {"attn_scale": 1.0},
        {"window_size": 2},
        {"eps": 1.0},
        {"parallel_attn_mlp": True, "parallel_norms": 2},
    ],
)
def test_a_setting_that_was_not_computed_with_is_found_by_transformer_lens(
    wrong: dict[str, Any], settings: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = runs.run(_state_dict(tmp_path), PROMPT, False)
    theirs = lens_reference.lens_reference
    monkeypatch.setattr(checks, "lens_reference", lambda path, cfg, *rest: theirs(path, replace(cfg, **wrong), *rest))
    error = checks.differences_from_transformer_lens(made)
    assert min(error.logits / error.largest, error.streams) > 1e-3  # 50 times what rounding may do


def test_what_transformer_lens_has_not_is_said(
    settings: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = runs.run(_state_dict(tmp_path), PROMPT, False)
    cfg = made.cfg
    for changes, message in [
        ({"residual_scale": 2.0}, "it has no setting residual_scale"),
        ({"act_fn": "quick_gelu"}, "no model of these settings: act_fn=quick_gelu must be one of"),
        ({"attn_only": True}, r"differ in blocks\.0\.ln2\.b"),
        ({"d_mlp": 7, "d_mlp_dense": 7}, r"differ in blocks\.0\.mlp\.W_in"),
    ]:
        with pytest.raises(ConfigError, match=message):
            lens_reference.lens_reference(made.source.path, replace(cfg, **changes), made.tokens[None])
    monkeypatch.setattr(lens_reference, "find_spec", lambda name: None)
    assert not checks.has_reference(made)  # so that it is not measured unasked
    with pytest.raises(ConfigError, match="pip install 'transformer_lens<4'"):
        checks.differences_from_transformer_lens(made)


def test_the_panel_compares_a_state_dict_with_transformer_lens(settings: dict[str, object], tmp_path: Path) -> None:
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params["prompt"], page.query_params["model"] = PROMPT, _state_dict(tmp_path)
    page.session_state["headlight.aboutA"] = True
    page.run()
    assert "Compare with TransformerLens" in [button.label for button in page.button]
    off = re.search(r"TransformerLens's logits +(\S+) at most", _codes(page))
    assert off is not None
    assert float(off[1].replace("−", "-")) < 1e-3  # float32 sums, of logits of tens
