"""What an edit can change, against what it does change in a model of random weights."""

import pytest
import torch

from headlight.model.runs.edits import (
    AblateHeads,
    AblateNeurons,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    FreezePatterns,
    Patch,
    Steer,
    follows_stream,
)
from headlight.model.runs.edits.cone import cone
from headlight.model.runs.edits.editing import run_with_edits
from tests.model.oracles import random_model
from tests.model.runs.edits.lettered import A, B, words

REACHING: list[Edit] = [
    AblateHeads(((1, 2),)),
    CutEdge((0, 1), 4, 2),
    CutEdge((1, 1), 4, 2),
    Steer(1, "a b", "c d", positions=(3,)),
    Steer(0, "a b", "c d", positions=(5, 2)),
    Drop(1, "MLP"),
    AblateNeurons(((1, 4),), positions=(2,)),
    ClampNeurons(((0, 4),), 9.0),
    *(Patch(name, B, (3,)) for name in random_model().hook_names if not follows_stream(name)),
]


@pytest.mark.parametrize("edit", REACHING, ids=repr)
@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
def test_an_edit_reaches_its_cone_and_no_further(edit: Edit, direction: str) -> None:
    """Random weights: what can change does change, and what cannot does not in any bit."""
    model = words(random_model(n_layers=3, attention_dir=direction))
    other = "h i j k l m h"  # another token than A's at every position
    edit = Patch(edit.name, other, edit.positions) if isinstance(edit, Patch) else edit
    tokens, n_layers = model.to_tokens(A), model.cfg.n_layers
    names = ["blocks.0.hook_resid_pre", *(f"blocks.{layer}.hook_resid_post" for layer in range(n_layers))]
    with torch.inference_mode():
        reference = [Patch(edit.name, A)] if isinstance(edit, Patch) and edit.name.endswith("result") else []
        _, before = run_with_edits(model, tokens, reference, names)
        _, after = run_with_edits(model, tokens, [edit], names)
    changed = torch.stack([(before[name] != after[name]).any(-1)[0] for name in names])
    same_everywhere = isinstance(edit, Patch) and edit.name == "hook_pos_embed"  # positions are those of every prompt
    assert torch.equal(changed, torch.zeros_like(changed) if same_everywhere else cone([edit], model.cfg, 7))


def test_cones_of_several_edits_add_up_and_freezing_has_none() -> None:
    cfg, edits = random_model().cfg, [CutEdge((0, 1), 4, 2), Drop(1)]
    both = cone(edits, cfg, 7)
    assert torch.equal(both, cone(edits[:1], cfg, 7) | cone(edits[1:], cfg, 7))
    assert not cone([FreezePatterns()], cfg, 7).any()
