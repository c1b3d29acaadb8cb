"""Measures over sets as jobs: some rows at a time, so that progress is visible and the work can be stopped.

What comes of a piece is in the cache of runs under the experiment's name, which says everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headlight.app.runs import models, prompt_sets, runs
from headlight.app.runs.cost import cost
from headlight.app.runs.prompt_sets import ReadSet
from headlight.model.base.errors import InputError
from headlight.model.experiments.batch import BatchValues, measure_batch, with_means
from headlight.model.experiments.cost import passes
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.plan import Plan, plan_of
from headlight.model.experiments.results import Results, read_results
from headlight.model.experiments.running import assemble
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.prompt_sets.encoding import TokenRow

WRONG = "The model answers it wrongly."


@dataclass(frozen=True)
class Asked:
    """A measure over a set that a model reads."""

    read: ReadSet
    settings: ExperimentSettings


@dataclass(frozen=True)
class Piece:
    """Some rows of it, of one length."""

    asked: Asked
    numbers: tuple[int, ...]


def plan(asked: Asked) -> Plan:
    """The rows and places that are measured.

    Raises:
        HeadlightError: the model or the set has not what is measured.
    """

    def made() -> Plan:
        model, tokens, settings = models.open_model(asked.read.model), prompt_sets.tokens_of(asked.read), asked.settings
        if not settings.only_correct:
            return plan_of(model, tokens, settings, runs.HOST)
        performed = [
            prompt_sets.do_performance(piece) for piece in prompt_sets.performance_pieces(asked.read, settings.metric)
        ]
        right = {number for part in performed for number in part.correct_numbers}
        wrong = {row.number: WRONG for row in tokens.rows if row.number not in right}
        planned = plan_of(model, tokens.only(tuple(right)), replace(settings, only_correct=False), runs.HOST)
        return replace(planned, settings=settings, left_out={**planned.left_out, **wrong})

    return runs.keep(("experiment plan", asked), made)


def pieces_of(asked: Asked) -> tuple[Piece, ...]:
    """The rows in pieces, each quick.

    Raises:
        HeadlightError: as `plan`.
    """
    rows = plan(asked).rows
    each = _seconds(asked, rows) / max(1, len(rows))
    parts = prompt_sets.in_pieces(rows, each, asked.settings.batch)
    return tuple(Piece(asked, tuple(row.number for row in part)) for part in parts)


def seconds(pieces: Sequence[Piece]) -> float:
    """How long these are estimated to take."""
    total = 0.0
    for asked in dict.fromkeys(piece.asked for piece in pieces):
        numbers = {number for piece in pieces if piece.asked == asked for number in piece.numbers}
        total += _seconds(asked, [row for row in plan(asked).rows if row.number in numbers])
    return total


def _seconds(asked: Asked, rows: Sequence[TokenRow]) -> float:
    cfg = models.open_model(asked.read.model).cfg  # by its shapes alone, so that the pieces are the same ones each time
    of_rows = sum(cost(cfg, max(n_tokens for n_tokens in row.lengths if n_tokens)).seconds for row in rows)
    return passes(plan(asked), cfg) * of_rows


def do(piece: Piece) -> BatchValues:
    """What is measured of a piece's rows; the cache keeps it.

    Raises:
        HeadlightError: the model has not what is measured, or too little memory is allowed.
    """

    def made() -> BatchValues:
        planned = _with_means(piece.asked)
        wanted = set(piece.numbers)
        rows = [row for row in planned.rows if row.number in wanted]
        with runs.turn():
            return measure_batch(models.on_device(models.open_model(piece.asked.read.model)), rows, planned)

    return runs.keep(("experiment", piece), made)


def _with_means(asked: Asked) -> Plan:
    """The plan with what a mean ablation puts in, which is of the whole set."""

    def made() -> Plan:
        with runs.turn():
            return with_means(models.on_device(models.open_model(asked.read.model)), plan(asked))

    return runs.keep(("experiment means", asked), made)


def is_done(piece: Piece) -> bool:
    """Whether a piece has been measured."""
    return runs.kept(("experiment", piece)) is not None


def known(asked: Asked) -> Measurement | None:
    """The measurement of the rows that are done; None before the first."""
    parts = [values for piece in pieces_of(asked) if (values := runs.kept(("experiment", piece))) is not None]
    return assemble(plan(asked), parts, models.open_model(asked.read.model).cfg) if parts else None


def results(folder: str) -> Results:
    """What the command has written into a folder.

    Raises:
        HeadlightError: folders may not be opened here, or it holds no experiment that can be read.
    """
    if not models.any_model_allowed():
        raise InputError("Folders are not opened here. Choose a set and measure it on the page.")
    return read_results(Path(folder).expanduser())
