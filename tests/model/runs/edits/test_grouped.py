"""Edits of keys and values that a group of heads shares: which heads they touch, and that the pass is changed there."""

from pathlib import Path

import torch

from headlight.model import TransformerConfig, run_prompt
from headlight.model.runs.edits import Patch, told_sharing, touches
from tests.tiny import KINDS, SIZES, open_tiny

GROUPED = TransformerConfig(**(SIZES | KINDS["llama-like"]))
ALONE = TransformerConfig(**(SIZES | KINDS["gpt2-like"]))


def test_a_patched_key_is_that_of_its_whole_group() -> None:
    patch = Patch("blocks.1.attn.hook_k", "x", (), 2)
    assert [touches(patch, (1, head), GROUPED) for head in range(4)] == [False, False, True, True]
    assert [touches(patch, (1, head), ALONE) for head in range(4)] == [False, False, True, False]
    assert told_sharing(patch, GROUPED).startswith("This is one key or value of H2, H3 together")
    assert not told_sharing(patch, ALONE)
    assert not told_sharing(Patch("blocks.1.attn.hook_q", "x", (), 2), GROUPED)


def test_patching_one_heads_key_changes_the_patterns_of_its_group_alone(tmp_path: Path) -> None:
    model, prompt, other = open_tiny("llama-like", tmp_path / "m"), "one two two", "one one one"
    own, there = run_prompt(model, prompt), run_prompt(model, other)
    edited = run_prompt(model, prompt, True, (Patch("blocks.1.attn.hook_rot_k", other, (), 3),))
    assert torch.equal(edited.keys(1)[:, 1], there.keys(1)[:, 1])
    assert torch.equal(edited.keys(1)[:, 0], own.keys(1)[:, 0])
