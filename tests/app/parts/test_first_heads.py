"""The heads that a comparison begins with: those that change most from A to B, by transformers' own patterns."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from headlight.app.parts.first_heads import clearest, heads_of
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.model.attention import fields
from tests.places import MINI

PROMPT, OTHER = (
    "When Mary and John went to the shop, John gave a drink to",
    "When Mary and John went, Mary gave a drink to",
)
CHOSEN = Selection(model="mini", prompt=PROMPT, prompt_b=OTHER)


@pytest.mark.usefixtures("settings")
def test_the_heads_whose_weights_change_most_are_chosen() -> None:
    comparison = comparisons.for_selection(CHOSEN)
    theirs = AutoModelForCausalLM.from_pretrained(MINI, attn_implementation="eager")
    placed = []
    for run in comparison.runs:
        with torch.inference_mode():
            patterns = torch.stack(theirs(run.tokens[None], output_attentions=True).attentions)[:, 0].double().numpy()
        on_axis = np.zeros((*patterns.shape[:2], *2 * [len(comparison.labels)]))
        places = np.array(comparison.places(run))
        on_axis[:, :, places[:, None], places] = patterns
        placed.append(on_axis)
    shared = sorted(set(comparison.places(comparison.a)) & set(comparison.places(comparison.runs[1])))
    expected = np.abs(placed[1] - placed[0])[:, :, shared].mean((-2, -1))
    np.testing.assert_allclose(fields.change(comparison).values.numpy(), expected, atol=1e-6)  # of float32
    order = np.argsort(-expected, axis=None)[:3]
    assert heads_of(comparison, CHOSEN) == tuple(divmod(int(index), expected.shape[1]) for index in order)
    assert heads_of(comparison, replace(CHOSEN, heads=((0, 1),))) == ((0, 1),)


@pytest.mark.usefixtures("settings")
def test_of_equal_runs_the_clearest_are_chosen() -> None:
    comparison = comparisons.for_selection(replace(CHOSEN, prompt_b=PROMPT, model_b="mini"))
    assert heads_of(comparison, CHOSEN) == clearest(comparison)
