"""The lens of a long prompt: what is in sight at once, the rest as jobs, with progress and a button that stops them.

`by` is the lens that reads each side.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf

import torch

from headlight.app.frame import progress
from headlight.app.runs import jobs, runs
from headlight.app.runs.cost import FLOPS
from headlight.model.lens import logit_lens, run_lens
from headlight.model.lens.kinds import Lens
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

MAX_SEEN = 32  # columns in a wide window, of which the last is the one looked at


@dataclass(frozen=True)
class Part:
    """Some positions of a run; with a token they are read for its rank too."""

    inputs: runs.EditedInputs
    positions: range
    by: Lens
    token: int | None = None


def read_first(comparison: Comparison, by: Mapping[str, Lens], place: int, token: int | None) -> bool:
    """Read what is in sight at a place, or everything where that is quick; return whether everything is read.

    Else the page says how far it is, with the button that stops it. With a `token` its ranks are read too.
    """
    work, away = jobs.get_jobs("lens"), dict[Part, int]()
    seconds = 0.0
    for side, run in comparison.sides.items():
        for part in _missing(run, by[side], token):
            away[part] = _columns_away(comparison, run, part.positions, place)
            seconds += _seconds(run, part.positions) * (1 if token is None else 2)
    is_quick = seconds <= progress.AT_ONCE and not work.waiting
    rest = sorted((part for part in away if away[part] and not is_quick), key=away.__getitem__)
    for part in away.keys() - set(rest):
        read(part)
    work.keep_to(rest)
    progress.offer(work, rest, "Compute the rest of the lens", "lens", seconds, inf)
    progress.bar(work, "parts of the lens done", "lens")
    return not rest


def is_quick(run: Run, by: Lens) -> bool:
    """Whether a run's lens is there, or quickly is."""
    return sum(_seconds(run, part.positions) for part in _missing(run, by)) <= progress.AT_ONCE


def lens_so_far(run: Run, by: Lens) -> logit_lens.LogitLens:
    """A run's lens with -1 and not-a-number at positions that are not read; some have to be."""
    parts = {part: runs.kept((*run.key, run_lens.lens_key(by, part))) for part in run_lens.parts_of(run)}
    example, n_layers = next(filter(None, parts.values())), len(run.layer_labels)
    return logit_lens.joined([read or logit_lens.unread(example, n_layers, len(part)) for part, read in parts.items()])


def probabilities_so_far(run: Run, token: int, by: Lens) -> Measure:
    """One token's probabilities, not-a-number at positions that are not read."""
    return _so_far(run, token, by, followed_probabilities, _missing(run, by))


def ranks_so_far(run: Run, token: int, by: Lens) -> Measure:
    """One token's ranks, -1 at positions that are not read."""
    return _so_far(run, token, by, followed_ranks, _missing(run, by, token))


def _so_far(run: Run, token: int, by: Lens, read: Callable[..., Measure], missing: list[Part]) -> Measure:
    unread = {part.positions for part in missing}
    parts = {part: None if part in unread else read(run, token, by, part) for part in run_lens.parts_of(run)}
    example, n_layers = next(filter(None, parts.values())), len(run.layer_labels)
    nothing = [logit_lens.nothing(example, n_layers, len(part)) for part in parts]
    values = [(known or none).values for known, none in zip(parts.values(), nothing, strict=True)]
    return replace(example, values=torch.cat(values, dim=1))


def go_on() -> None:
    """Do some of the waiting work, and draw the page again."""
    progress.go_on(jobs.get_jobs("lens"), read)


def read(part: Part) -> None:
    """Read one part; the cache keeps it."""
    run = runs.run(*part.inputs)
    run_lens.logit_lens_of(run, part.positions, part.by)
    if part.token is not None:
        followed_ranks(run, part.token, part.by, part.positions)


def _missing(run: Run, by: Lens, token: int | None = None) -> list[Part]:
    """Parts of a run that are not computed yet."""
    inputs = runs.inputs_of(run)
    parts = (Part(inputs, positions, by, token) for positions in run_lens.parts_of(run))
    return [part for part in parts if not _is_known(run, part)]


def _is_known(run: Run, part: Part) -> bool:
    """Whether this part of a run's lens is in the cache, or all of it is."""
    whole, own = run_lens.lens_key(part.by), run_lens.lens_key(part.by, part.positions)
    is_read = any(runs.kept((*run.key, key)) is not None for key in (whole, own))
    if part.token is None or not is_read:
        return is_read
    return runs.kept((*run.key, run_lens.ranks_key(part.token, part.by, part.positions))) is not None


def _columns_away(comparison: Comparison, run: Run, positions: range, place: int) -> int:
    """Number of columns between a part and what is in sight, of which the place is the last column."""
    at = comparison.positions(run)[place]
    last = len(run.tokens) - 1 if at is None else at
    return max(0, positions.start - last, last - MAX_SEEN + 2 - positions.stop)


def _seconds(run: Run, positions: range) -> float:
    """Estimated time of a part."""
    return 2 * len(positions) * (run.cfg.n_layers + 1) * run.cfg.d_model * run.cfg.d_vocab / FLOPS
