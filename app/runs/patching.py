"""Maps of patches as jobs: some cells at a time, so that progress is visible and the work can be stopped.

What comes of a piece is in the cache of runs under the map's name, which says everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.app.runs import runs
from headlight.app.runs.cost import FLOPS
from headlight.app.runs.limits import GIB
from headlight.app.server.settings import settings
from headlight.model.measure import Measure
from headlight.model.measure.alignment import Align
from headlight.model.patching import (
    AT_ONCE,
    EVERY_HEAD,
    Cells,
    LogitDifference,
    Parts,
    Patching,
    Variant,
    operations,
    patch_runs,
)
from headlight.model.patching.runs import Into
from headlight.model.runs.edits import Edit
from headlight.model.text.chat import Begin

PIECE_SECONDS = 0.4  # by estimate, so that a click is heard soon


@dataclass(frozen=True)
class PatchQuestion:
    """Map by name: two prompts, the logit difference at a position of each, and the patched part and direction.

    B is run by `model_b` and with `edits`; prompts of different length are matched by `align`. What does not count for
    the `parts` that are patched is 0.
    """

    model: str
    a: str
    b: str
    bos: Begin
    measured: LogitDifference
    model_b: str
    edits: tuple[Edit, ...] = ()
    align: Align = "tokens"
    into: Into = "A"
    parts: Parts = EVERY_HEAD


@dataclass(frozen=True)
class Piece:
    """Cells of a map that follow one another, row by row, and their estimated time."""

    question: PatchQuestion
    start: int
    stop: int
    seconds: float = field(compare=False)


def patching_of(question: PatchQuestion) -> Patching:
    """The two runs, ready to be patched.

    Raises:
        HeadlightError: they cannot be run, have not as many tokens, or do not differ in what is measured.
    """

    def made() -> Patching:
        a = runs.run(question.model, question.a, question.bos)
        b = runs.run(question.model_b, question.b, question.bos, question.edits)
        return patch_runs(a, b, question.measured, question.into, question.align)

    return runs.keep(("patching", replace(question, parts=EVERY_HEAD)), made)


def cells_of(question: PatchQuestion) -> Cells:
    """The map's cells.

    Raises:
        HeadlightError: as `patching_of`.
    """
    return Cells(patching_of(question), question.parts)


def pieces_of(question: PatchQuestion) -> tuple[Piece, ...]:
    """The map in pieces, each quick and within the memory that a run may take.

    The quickest come first, as those of the last layers are: something is on the screen at once.

    Raises:
        InputError: the model has no such map, or not even one variant fits.
    """
    cells, most = cells_of(question), patching_of(question).most_at_once(_at_once())
    pieces, start, planned, n_run = list[Piece](), 0, 0.0, 0
    costs = [_seconds(cells, variant) for variant in cells.grid.variants]
    for place, cost in enumerate(costs):
        if cost and n_run and (planned + cost > PIECE_SECONDS or n_run >= most):
            pieces.append(Piece(question, start, place, planned))
            start, planned, n_run = place, 0.0, 0
        planned, n_run = planned + cost, n_run + bool(cost)
    pieces.append(Piece(question, start, len(costs), planned))
    return tuple(sorted(pieces, key=seconds_of))


def seconds(pieces: Sequence[Piece]) -> float:
    """Estimated time of these pieces."""
    return sum(map(seconds_of, pieces))


def seconds_of(piece: Piece) -> float:
    """Estimated time of one piece."""
    return piece.seconds


def _seconds(cells: Cells, variant: Variant) -> float:
    """Estimated time of a variant; none of one that changes nothing, which is not run."""
    if not cells.patching.is_changed(variant):
        return 0.0
    return operations(cells.patching.model.cfg, [variant], cells.patching.n_pos) / FLOPS


def _at_once() -> int:
    return min(AT_ONCE, int(settings().run_gib * GIB))


def do(piece: Piece) -> Float[Tensor, " cell"]:
    """The shares of a piece's cells; the cache keeps them.

    Raises:
        HeadlightError: as `patching_of`.
    """

    def made() -> Float[Tensor, " cell"]:
        cells = cells_of(piece.question)
        with runs.turn():
            return cells.shares(piece.start, piece.stop, _at_once())

    return runs.keep(("patched", piece), made)


def is_done(piece: Piece) -> bool:
    """Whether a piece's cells are known."""
    return runs.kept(("patched", piece)) is not None


def known(question: PatchQuestion) -> Measure:
    """The map as far as it has been done; NaN for the rest, and at positions that are not matched."""
    cells = cells_of(question)
    shares = torch.full((len(cells.grid.variants),), torch.nan)
    for piece in pieces_of(question):
        if (values := runs.kept(("patched", piece))) is not None:
            shares[piece.start : piece.stop] = values.float()
    return cells.as_map(shares)


def estimate(question: PatchQuestion) -> Measure:
    """The map by attribution patching: from one run's gradients.

    Raises:
        HeadlightError: as `patching_of`.
    """
    cells = cells_of(question)

    def made() -> Measure:
        with runs.turn():
            return cells.estimate()

    return runs.keep(("attribution patching", question), made)
