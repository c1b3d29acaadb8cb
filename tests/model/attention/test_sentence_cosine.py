"""The cosine of two sentences beside transformers' own hidden states, and parts that sum to it."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from headlight.model import Comparison, compare, load, run_prompt
from headlight.model.attention.residual_tables import residual_tables
from headlight.model.attention.sentence_cosine import no_cosine, said_of_pooling, sentence_cosine
from headlight.model.runs.edits import AblateHeads
from tests.model.checkpoints.test_heads import built

A, B = "ids: 7 3 11 5 9", "ids: 4 3 11 8"
POOLINGS = {
    "pooling_mode_mean_tokens": lambda states: states.mean(0),
    "pooling_mode_cls_token": lambda states: states[0],
    "pooling_mode_lasttoken": lambda states: states[-1],
}


def encoder(folder: Path, kind: str, pooling: str = "") -> Any:
    """A random body, with the files of sentence-transformers beside it where its pooling is named."""
    theirs = built(kind, "Model", num_labels=2)
    theirs.save_pretrained(folder)
    if pooling:
        modules = [{"type": f"sentence_transformers.models.{name}", "path": path} for name, path in MODULES.items()]
        (folder / "modules.json").write_text(json.dumps(modules))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({pooling: True, "word_embedding_dimension": 20}))
    return theirs


MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}


def compared(folder: Path) -> Comparison:
    model = load(folder)
    return compare(run_prompt(model, A, False), run_prompt(model, B, False), "position")


def states_of(theirs: Any, prompt: str) -> Tensor:
    with torch.no_grad():
        tokens = torch.tensor([[int(number) for number in prompt.split()[1:]]])
        return theirs(tokens).last_hidden_state[0].double()


@pytest.mark.parametrize(
    ("kind", "pooling"),
    [("Bert", "pooling_mode_mean_tokens"), ("Llama", "pooling_mode_lasttoken"), ("GPT2", "pooling_mode_cls_token")],
)
def test_parts_and_tokens_sum_to_the_cosine_of_transformers_states(kind: str, pooling: str, tmp_path: Path) -> None:
    theirs = encoder(tmp_path, kind, pooling)
    one, other = (POOLINGS[pooling](states_of(theirs, prompt)) for prompt in (A, B))
    expected = float(torch.cosine_similarity(one, other, 0))
    comparison = compared(tmp_path)
    assert comparison.a.cfg.output_position == {"Bert": "mean", "Llama": "last", "GPT2": "first"}[kind]
    for parts in sentence_cosine(comparison).values():
        # The states are float32, whose rounding is 6e-8 of each.
        assert float(parts.cosine.values) == pytest.approx(expected, abs=2e-6)
        assert float(parts.tokens.values.sum()) == pytest.approx(expected, abs=2e-6)
        assert float(parts.heads.values.sum() + parts.rest.values.sum()) == pytest.approx(expected, abs=5e-6)


def test_a_model_in_a_folder_of_its_own_is_pooled_by_the_files_above_it(tmp_path: Path) -> None:
    """As the first sentence-transformers laid them out."""
    encoder(tmp_path, "Bert", "pooling_mode_mean_tokens")
    expected = sentence_cosine(compared(tmp_path))
    own = tmp_path / "0_Transformer"
    own.mkdir()
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).rename(own / name)
    for parts, same in zip(sentence_cosine(compared(tmp_path)).values(), expected.values(), strict=True):
        torch.testing.assert_close(parts.heads.values, same.heads.values)
    assert load(tmp_path).cfg.output_position == "mean"


@pytest.mark.parametrize("activation", ["torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Tanh"])
@pytest.mark.parametrize("stored", ["model.safetensors", "pytorch_model.bin"])
def test_layers_behind_the_pooling_are_part_of_the_sum(activation: str, stored: str, tmp_path: Path) -> None:
    """Two of sentence-transformers' Dense, the first with an activation; what their biases add is of no token."""
    theirs = encoder(tmp_path, "Bert", "pooling_mode_mean_tokens")
    torch.manual_seed(1)
    layers = [torch.nn.Linear(20, 9), torch.nn.Linear(9, 6, bias=False)]
    modules = json.loads((tmp_path / "modules.json").read_text())
    for place, (layer, named) in enumerate(zip(layers, (activation, "torch.nn.modules.linear.Identity"), strict=True)):
        folder = tmp_path / f"{place + 2}_Dense"
        folder.mkdir()
        modules.insert(-1, {"type": "sentence_transformers.models.Dense", "path": folder.name})
        settings = {"in_features": layer.in_features, "out_features": layer.out_features, "activation_function": named}
        (folder / "config.json").write_text(json.dumps(settings))
        tensors = {f"linear.{name}": tensor.detach() for name, tensor in layer.named_parameters()}
        (save_file if stored.endswith("safetensors") else torch.save)(tensors, folder / stored)
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    act = torch.tanh if activation.endswith("Tanh") else torch.nn.Identity()
    with torch.no_grad():
        pooled = (states_of(theirs, prompt).mean(0) for prompt in (A, B))
        one, other = (layers[1].double()(act(layers[0].double()(sentence))) for sentence in pooled)
    expected = float(torch.cosine_similarity(one, other, 0))
    for parts in sentence_cosine(compared(tmp_path)).values():
        rest = dict(zip(parts.rest_names, parts.rest.values.tolist(), strict=True))
        # The states are float32, whose rounding is 6e-8 of each.
        assert float(parts.cosine.values) == pytest.approx(expected, abs=2e-6)
        assert float(parts.tokens.values.sum()) + rest["biases of Dense"] == pytest.approx(expected, abs=2e-6)
        assert float(parts.heads.values.sum()) + sum(rest.values()) == pytest.approx(expected, abs=5e-6)


def test_a_head_adds_what_is_lost_at_frozen_scales_without_it(tmp_path: Path) -> None:
    """In the last layer of a model with one norm behind it, a head's part is its write times that norm's map."""
    theirs = encoder(tmp_path, "GPT2", "pooling_mode_mean_tokens")
    comparison, (layer, head) = compared(tmp_path), (1, 2)
    run, norm = comparison.a, theirs.ln_f
    with torch.no_grad():
        tokens = run.tokens[None]
        resid, cache = load(tmp_path).run_with_cache(tokens, stop_at_layer=2)
        write = cache["z", layer][0, :, head].double() @ run.model.block(layer).attn.W_O[head].double()
        centred = resid[0].double() - resid[0].double().mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
        pooled = ((write - write.mean(-1, keepdim=True)) / scale * norm.weight.double()).mean(0)
        own, other = (states_of(theirs, prompt).mean(0) for prompt in (A, B))
    expected = float(pooled @ other / (own.norm() * other.norm()))
    assert float(sentence_cosine(comparison)["A"].heads.values[layer, head]) == pytest.approx(expected, abs=2e-6)


def test_without_files_the_mean_is_an_assumption_and_a_head_is_refused(tmp_path: Path) -> None:
    encoder(tmp_path / "body", "Bert")
    comparison = compared(tmp_path / "body")
    assert said_of_pooling(comparison.a) == "mean of all tokens, an assumption: no file says how"
    assert "sentence cosine" in residual_tables(comparison)
    assert "prompt B" in no_cosine(Comparison(comparison.a))
    built("Bert", "ForSequenceClassification").save_pretrained(tmp_path / "classifier")
    assert "open a sentence encoder" in no_cosine(compared(tmp_path / "classifier"))


def test_with_an_edit_the_parts_still_sum(tmp_path: Path) -> None:
    encoder(tmp_path, "Bert")
    model = load(tmp_path)
    runs = run_prompt(model, A, False), run_prompt(model, A, False, (AblateHeads(((0, 1),)),))
    for parts in sentence_cosine(compare(*runs, "position")).values():
        total = float(parts.heads.values.sum() + parts.rest.values.sum())
        assert total == pytest.approx(float(parts.cosine.values), abs=5e-6)


def test_modules_that_are_not_read_are_named(tmp_path: Path) -> None:
    encoder(tmp_path, "Bert", "pooling_mode_max_tokens")
    model = load(tmp_path)
    assert model.cfg.output_position == "each"
    assert model.source is not None
    assert "pooling is not read (pooling_mode_max_tokens)" in model.source.note
