"""The form that asks how a state dict was trained: what it opens computes as TransformerLens does."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from streamlit.testing.v1 import AppTest
from transformers import GPT2Config, GPT2LMHeadModel

from headlight.app.parts.labels import percent
from headlight.app.runs import models
from headlight.model import load
from tests.app.conftest import Options
from tests.model.lens.lens_twin import HookedTransformer, HookedTransformerConfig
from tests.model.oracles import ATOL, RTOL
from tests.places import MAIN, MINI

PROMPT = "one two three one two three"
SIZES = {"n_layers": 3, "d_model": 16, "n_ctx": 32, "d_head": 8, "n_heads": 2, "d_mlp": 20, "device": "cpu"}
NEO = {"use_local_attn": True, "window_size": 2, "attn_types": ["global", "local", "global"], "use_attn_scale": False}


@pytest.fixture
def page(settings: dict[str, object], tmp_path: Path) -> AppTest:
    """A session on a server whose models folder is to hold a state dict, beside a tokenizer."""
    settings["models_folder"] = str(tmp_path)
    for file in MINI.glob("tokenizer*.json"):
        shutil.copy(file, tmp_path)
    opened = AppTest.from_file(MAIN, default_timeout=60)
    opened.query_params.update({"model": "toy.safetensors", "prompt": PROMPT})
    return opened


def _saved(path: Path, **settings: Any) -> HookedTransformer:
    """A model of TransformerLens's own with random weights, whose state dict is written to the file."""
    d_vocab = load("mini").cfg.d_vocab
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of HookedTransformer, which is the oracle here
        twin = HookedTransformer(
            HookedTransformerConfig(**(SIZES | {"d_vocab": d_vocab, "normalization_type": "LN"} | settings))
        )
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    save_file({name: tensor.contiguous() for name, tensor in twin.state_dict().items()}, path)
    return twin


def _box(page: AppTest, kind: str, label: str) -> Any:
    return next(box for box in getattr(page, kind) if box.label == label)


@pytest.mark.parametrize(
    ("theirs", "answers", "behind"),
    [
        (
            NEO | {"eps": 0.1, "act_fn": "relu"},
            {
                ("selectbox", "Scores divided by"): 1.0,
                ("number_input", "Window"): 2,
                ("multiselect", "Layers with the window"): [1],
                ("number_input", "Epsilon of the norms"): 0.1,
            },
            '&attn_scale=1.0&window_size=2&attn_types=["global","local","global"]&eps=0.1',
        ),
        (
            {
                "scale_attn_by_inverse_layer_idx": True,
                "parallel_attn_mlp": True,
                "attn_scores_soft_cap": 2.0,
                "output_logits_soft_cap": 3.0,
                "act_fn": "gelu_new",
            },
            {
                ("selectbox", "Activation"): "gelu_new",
                ("checkbox", "Scores divided by the layer's number, too"): True,
                ("checkbox", "Attention and MLP in parallel"): True,
                ("number_input", "Soft cap of scores"): 2.0,
                ("number_input", "Soft cap of logits"): 3.0,
            },
            "&attn_scale=null&window_size=null&scale_attn_by_inverse_layer_idx=true&parallel_attn_mlp=true"
            "&attn_scores_soft_cap=2.0&output_logits_soft_cap=3.0",
        ),
    ],
    ids=["as GPT-Neo", "all others"],
)
def test_a_state_dict_opens_by_the_form_as_transformer_lens_computes_it(
    page: AppTest,
    options: Options,
    tmp_path: Path,
    theirs: dict[str, Any],
    answers: dict[tuple[str, str], Any],
    behind: str,
) -> None:
    twin = _saved(tmp_path / "toy.safetensors", **theirs)
    page.run()
    for (kind, label), answer in answers.items():
        _box(page, kind, label).set_value(answer)
    _box(page, "button", "Open with these settings").click().run()
    assert not page.exception
    name = page.query_params["model"]
    assert name.endswith(behind)
    opened = models.open_model(name)
    tokens = opened.to_tokens(PROMPT, prepend_bos=True)
    with torch.inference_mode():
        expected = twin(tokens)
    torch.testing.assert_close(opened(tokens), expected, rtol=RTOL, atol=ATOL)
    best = expected[0, -1].softmax(-1).topk(3)
    labels = [f"“{label}”" for label in opened.tokenizer.labels(best.indices)]
    shares = map(percent, best.values.tolist())
    likeliest = [options.drawn[f"predicted_A_{slot}"].label for slot in range(3)]
    assert likeliest == [f"{label} {share}" for label, share in zip(labels, shares, strict=True)]


def test_gpt2s_state_dict_opens_by_the_form_and_its_prompt_is_typed_as_ids(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(models, "only_this_machine", lambda: True)
    settings["any_model"] = True
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=3, n_embd=12, n_positions=9, vocab_size=17)).eval()
    path = tmp_path / "model.pt"
    torch.save({"state_dict": theirs.state_dict()}, path)
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params.update({"model": str(path), "prompt": "ids: 3 16 0 7 7"})
    page.run()
    _box(page, "selectbox", "Heads").set_value(3)
    _box(page, "selectbox", "Activation").set_value("gelu_new")
    _box(page, "button", "Open with these settings").click().run()
    assert not page.exception
    assert not page.error
    name = page.query_params["model"]
    assert name.endswith("model.pt?n_heads=3&act_fn=gelu_new")
    opened = models.open_model(name)
    tokens = opened.to_tokens("ids: 3 16 0 7 7")
    with torch.inference_mode():
        torch.testing.assert_close(opened(tokens), theirs(tokens).logits, rtol=RTOL, atol=ATOL)  # sums in another order
