"""Two runs made ready to be patched into one another: which of their positions belong together, and B's edits."""

import torch

from headlight.model.base.errors import InputError
from headlight.model.measure.alignment import Align, Matches, match_positions
from headlight.model.nn.hooks import NO_TAP
from headlight.model.patching.runs import Into, Patching
from headlight.model.patching.sides import LogitDifference, differing
from headlight.model.runs.comparison import place_label
from headlight.model.runs.edits.editing import tap
from headlight.model.runs.run import Run, means_of


def patch_runs(a: Run, b: Run, measured: LogitDifference, into: Into = "A", align: Align = "tokens") -> Patching:
    """Run A, and run B of another prompt, with edits, or of a model of the same shape, ready to be patched.

    Raises:
        HeadlightError: they cannot be patched, or do not differ in what is measured.
    """
    if a.edits:
        raise InputError("Run A is the one without edits: give the run with edits as B.")
    host, means = b.host, means_of(b)
    with host.turn(), torch.no_grad():  # and not in inference mode: gradients go through what edits hold
        model, model_b = (host.on_device(run.model) for run in (a, b))
        tokens_b, opened = b.tokens[None].to(host.device), b.tap.opened
        tap_b = tap(model_b, tokens_b, b.edits, b.bos, None, means, opened) if b.edits else NO_TAP
        matches = matches_of(a, b, align)
        return Patching(model, a.tokens[None], b.tokens[None], measured, into, matches, model_b, tap_b)


def matches_of(a: Run, b: Run, align: Align) -> Matches:
    """Matched positions of A and B: by tokens, or by position where their numbers differ."""
    return match_positions(a.tokens.tolist(), b.tokens.tolist(), align)


def mismatch(a: Run, b: Run, align: Align) -> str:
    """Reason why no part of one run can replace the other's, and what to do; empty where it can."""
    if reason := differing(a.cfg, b.cfg):
        return reason
    if matches_of(a, b, align):
        return ""
    return (
        f"None of A's {len(a.tokens)} tokens is matched with one of B's {len(b.tokens)}, so there is nothing to patch. "
        "Match tokens by position, in the prompt bar, or give B a prompt that has more in common with A."
    )


def position_labels(a: Run, b: Run, into: Into, align: Align) -> tuple[str, ...]:
    """The labels of the positions of the run that is patched: both tokens if they differ, − or + without a match."""
    pairs: dict[int, tuple[int | None, int | None]] = {
        at: (at, None) if into == "A" else (None, at) for at in range(len((a if into == "A" else b).tokens))
    }
    pairs |= {i if into == "A" else j: (i, j) for i, j in matches_of(a, b, align)}

    def label(i: int | None, j: int | None) -> str:
        same = i is not None and j is not None and a.tokens[i] == b.tokens[j]
        return place_label("both" if same else "changed", a.labels, i, b.labels, j)

    return tuple(label(*pair) for pair in pairs.values())
