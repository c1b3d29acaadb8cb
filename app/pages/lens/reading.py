"""The lens of a long prompt as jobs: some positions at a time, so that the work can be shown and stopped."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from headlight.app.frame import progress
from headlight.app.runs import jobs, runs
from headlight.app.runs.cost import FLOPS
from headlight.model.comparison import Comparison
from headlight.model.edits import Edit
from headlight.model.explain import lens as explained
from headlight.model.run import Run


@dataclass(frozen=True)
class Part:
    """Some positions of a run, which is named by its inputs, from `begin` on."""

    model: str
    prompt: str
    bos: bool
    edits: tuple[Edit, ...]
    begin: int


def is_read(shown: Comparison) -> bool:
    """Whether the lens of these runs is there, or quickly is; else how far it is, with the button that stops it."""
    work, missing = jobs.of("lens"), _missing(shown)
    every = [part for parts in missing.values() for part in parts]
    seconds = sum(_seconds(run) * len(missing[side]) for side, run in shown.sides.items())
    work.keep_to(every)
    if not every or (seconds <= progress.AT_ONCE and not work.waiting):
        return True
    progress.offer(work, every, "Read the rest of the lens", "lens", seconds, inf)
    progress.bar(work, "parts of the lens read", "lens")
    return False


def go_on() -> None:
    """Read some of what is waiting, and draw the page again."""
    progress.go_on(jobs.of("lens"), read)


def read(part: Part) -> None:
    """Read one part; the cache keeps it."""
    explained.logit_lens_from(runs.run(part.model, part.prompt, part.bos, part.edits), part.begin)


def _missing(shown: Comparison) -> dict[str, Sequence[Part]]:
    """What of each run is not read yet."""
    return {
        side: [
            Part(run.source.name, run.prompt, run.bos, run.edits, begin)
            for begin in explained.lens_begins(run)
            if not _is_known(run, begin)
        ]
        for side, run in shown.sides.items()
    }


def _is_known(run: Run, begin: int) -> bool:
    """Whether this part of a run's lens is in the cache, or all of it is."""
    return runs.kept((*run.key, "lens")) is not None or runs.kept((*run.key, ("lens", begin))) is not None


def _seconds(run: Run) -> float:
    """How long a part takes by estimate."""
    positions = len(run.tokens) / len(explained.lens_begins(run))
    return 2 * positions * (run.cfg.n_layers + 1) * run.cfg.d_model * run.cfg.d_vocab / FLOPS
