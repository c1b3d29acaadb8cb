"""Edits of neurons: as by hooks on transformers' own model, by hand, and across prompts of other lengths."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from headlight.model import Transformer, load, run_prompt
from headlight.model.runs.edits import AblateNeurons, ClampNeurons, Edit
from headlight.model.runs.edits.editing import run_with_edits
from tests.model.oracles import random_model
from tests.model.runs.edits.lettered import A, B, by_hand, clean, edited, words

POST = "blocks.{}.mlp.hook_post"
NEURONS = ((0, 3), (1, 30))
TEXT, OTHER = "The cat sat on the mat and the dog", "Once a man saw the sea and the sky"


@pytest.fixture
def model() -> Transformer:
    return words(random_model())


def test_neurons_from_the_same_prompt_change_nothing(model: Transformer) -> None:
    assert torch.equal(edited(model, AblateNeurons(NEURONS, "resample", A)), clean(model, A))


@pytest.mark.parametrize("positions", [(), (2, 5)])
def test_neurons_give_what_is_asked_where_it_is_asked(model: Transformer, positions: tuple[int, ...]) -> None:
    rows = list(positions) or slice(None)
    with torch.inference_mode():
        _, there = model.run_with_cache(model.to_tokens(B))

    def hooks(value: Any) -> list[Any]:
        def put(post: Tensor, hook: Any) -> None:
            neuron = dict(NEURONS)[hook.layer()]
            post[:, rows, neuron] = value(post[:, :, neuron], there[hook.name][:, :, neuron][:, rows])

        return [(POST.format(layer), put) for layer, _ in NEURONS]

    cases: list[tuple[Edit, Any]] = [
        (AblateNeurons(NEURONS, positions=positions), lambda own, other: 0.0),
        (AblateNeurons(NEURONS, "mean", positions=positions), lambda own, other: own.mean(1, keepdim=True)),
        (AblateNeurons(NEURONS, "resample", B, positions, "position"), lambda own, other: other),
        (ClampNeurons(NEURONS, 2.5, positions), lambda own, other: 2.5),
    ]
    for edit, value in cases:
        assert torch.equal(edited(model, edit), by_hand(model, hooks(value))), edit


@pytest.mark.parametrize("name", ["mini", "mini-llama"])
def test_edited_neurons_are_as_by_hooks_in_transformers(name: str) -> None:
    model = load(name)
    assert model.source is not None
    theirs = AutoModelForCausalLM.from_pretrained(model.source.path, attn_implementation="eager").eval()
    out = next(m for n, m in theirs.named_modules() if n.endswith(("1.mlp.c_proj", "1.mlp.down_proj")))
    tokens = model.to_tokens(TEXT, prepend_bos=True)
    for edit, value in ((AblateNeurons(((1, 7),)), 0.0), (ClampNeurons(((1, 7),), -3.0), -3.0)):

        def put(module: object, inputs: tuple[Tensor], value: float = value) -> tuple[Tensor]:
            post = inputs[0].clone()
            post[..., 7] = value
            return (post,)

        handle = out.register_forward_pre_hook(put)
        with torch.inference_mode():
            expected = theirs(tokens).logits
            logits, _ = run_with_edits(model, tokens, [edit], "hook_embed")
        handle.remove()
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)  # logits of size 20 in float32


def test_a_run_keeps_what_an_edit_of_a_neuron_left(model: Transformer) -> None:
    run = run_prompt(load("mini"), TEXT, edits=(AblateNeurons(((0, 5),), "resample", OTHER),))
    own = run_prompt(load("mini"), TEXT)
    assert not torch.equal(run.cache["mlp_out", 0], own.cache["mlp_out", 0])
    assert torch.equal(run.cache["attn_out", 0], own.cache["attn_out", 0])
