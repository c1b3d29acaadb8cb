"""The lens of a long prompt as jobs: some positions at a time, so that progress is visible and the work can be stopped.

`by` is the lens that reads each side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from headlight.app.frame import progress
from headlight.app.runs import jobs, runs
from headlight.app.runs.cost import FLOPS
from headlight.model.lens import logit_lens
from headlight.model.lens import run_lens as explained
from headlight.model.lens.kinds import Lens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run


@dataclass(frozen=True)
class Part:
    """Some positions of a run, from `begin` on."""

    inputs: runs.EditedInputs
    begin: int
    by: Lens


def is_read(comparison: Comparison, by: Mapping[str, Lens]) -> bool:
    """Whether the lens of these runs is there, or quickly is; else how far it is, with the button that stops it."""
    work, missing = jobs.get_jobs("lens"), _missing(comparison, by)
    every = [part for parts in missing.values() for part in parts]
    every.sort(key=lambda part: -part.begin)  # the last tokens are in sight at first
    seconds = sum(_seconds(run) * len(missing[side]) for side, run in comparison.sides.items())
    work.keep_to(every)
    if not every or (seconds <= progress.AT_ONCE and not work.waiting):
        return True
    progress.offer(work, every, "Compute the rest of the lens", "lens", seconds, inf)
    progress.bar(work, "parts of the lens done", "lens")
    return False


def is_quick(run: Run, by: Lens) -> bool:
    """Whether a run's lens is there, or quickly is."""
    begins = explained.lens_begins(run)
    missing = sum(not _is_known(run, begin, by) for begin in begins)
    return _seconds(run) * missing <= progress.AT_ONCE


def so_far(comparison: Comparison, by: Mapping[str, Lens]) -> dict[str, logit_lens.LogitLens] | None:
    """The lens of each run with -1 and not-a-number at positions that are not read; None before any is."""
    known = {
        side: [_known(run, begin, by[side]) for begin in explained.lens_begins(run)]
        for side, run in comparison.sides.items()
    }
    example = next((part for parts in known.values() for part in parts if part is not None), None)
    if example is None:
        return None
    return {side: _joined(run, known[side], example) for side, run in comparison.sides.items()}


def _joined(
    run: Run, known: Sequence[logit_lens.LogitLens | None], example: logit_lens.LogitLens
) -> logit_lens.LogitLens:
    begins = explained.lens_begins(run)
    n_positions = (min(begins.step, len(run.tokens) - begin) for begin in begins)
    parts = zip(known, n_positions, strict=True)
    return logit_lens.joined(
        [part or logit_lens.unread(example, len(run.layer_labels), count) for part, count in parts]
    )


def go_on() -> None:
    """Do some of the waiting work, and draw the page again."""
    progress.go_on(jobs.get_jobs("lens"), read)


def read(part: Part) -> None:
    """Read one part; the cache keeps it."""
    explained.logit_lens_from(runs.run(*part.inputs), part.begin, part.by)


def _missing(comparison: Comparison, by: Mapping[str, Lens]) -> dict[str, Sequence[Part]]:
    """Parts of each run that are not computed yet."""
    return {
        side: [
            Part(runs.inputs_of(run), begin, by[side])
            for begin in explained.lens_begins(run)
            if not _is_known(run, begin, by[side])
        ]
        for side, run in comparison.sides.items()
    }


def _is_known(run: Run, begin: int, by: Lens) -> bool:
    """Whether this part of a run's lens is in the cache, or all of it is."""
    return runs.kept((*run.key, explained.lens_key(by))) is not None or _known(run, begin, by) is not None


def _known(run: Run, begin: int, by: Lens) -> logit_lens.LogitLens | None:
    return runs.kept((*run.key, explained.lens_key(by, begin)))


def _seconds(run: Run) -> float:
    """Estimated time of a part."""
    positions = len(run.tokens) / len(explained.lens_begins(run))
    return 2 * positions * (run.cfg.n_layers + 1) * run.cfg.d_model * run.cfg.d_vocab / FLOPS
