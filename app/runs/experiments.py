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
class ExperimentQuestion:
    """A measure over a set that a model reads."""

    read: ReadSet
    settings: ExperimentSettings


@dataclass(frozen=True)
class Piece:
    """Some rows of it, of one length."""

    question: ExperimentQuestion
    numbers: tuple[int, ...]


def plan(question: ExperimentQuestion) -> Plan:
    """The rows and places that are measured.

    Raises:
        HeadlightError: the model or the set has not what is measured.
    """

    def made() -> Plan:
        model, tokens, settings = (
            models.open_model(question.read.model),
            prompt_sets.tokens_of(question.read),
            question.settings,
        )
        if not settings.only_correct:
            return plan_of(model, tokens, settings, runs.HOST)
        performed = [
            prompt_sets.do_performance(piece)
            for piece in prompt_sets.performance_pieces(question.read, settings.metric)
        ]
        right = {number for part in performed for number in part.correct_numbers}
        wrong = {row.number: WRONG for row in tokens.rows if row.number not in right}
        planned = plan_of(model, tokens.only(tuple(right)), replace(settings, only_correct=False), runs.HOST)
        return replace(planned, settings=settings, left_out={**planned.left_out, **wrong})

    return runs.keep(("experiment plan", question), made)


def pieces_of(question: ExperimentQuestion) -> tuple[Piece, ...]:
    """The rows in pieces, each quick.

    Raises:
        HeadlightError: as `plan`.
    """
    rows = plan(question).rows
    each = _seconds(question, rows) / max(1, len(rows))
    parts = prompt_sets.in_pieces(rows, each, question.settings.batch)
    return tuple(Piece(question, tuple(row.number for row in part)) for part in parts)


def seconds(pieces: Sequence[Piece]) -> float:
    """How long these are estimated to take."""
    total = 0.0
    for question in dict.fromkeys(piece.question for piece in pieces):
        numbers = {number for piece in pieces if piece.question == question for number in piece.numbers}
        total += _seconds(question, [row for row in plan(question).rows if row.number in numbers])
    return total


def _seconds(question: ExperimentQuestion, rows: Sequence[TokenRow]) -> float:
    cfg = models.open_model(
        question.read.model
    ).cfg  # by its shapes alone, so that the pieces are the same ones each time
    of_rows = sum(cost(cfg, max(n_tokens for n_tokens in row.lengths if n_tokens)).seconds for row in rows)
    return passes(plan(question), cfg) * of_rows


def do(piece: Piece) -> BatchValues:
    """What is measured of a piece's rows; the cache keeps it.

    Raises:
        HeadlightError: the model has not what is measured, or too little memory is allowed.
    """

    def made() -> BatchValues:
        planned = _with_means(piece.question)
        wanted = set(piece.numbers)
        rows = [row for row in planned.rows if row.number in wanted]
        with runs.turn():
            return measure_batch(
                models.on_device(models.open_model(piece.question.read.model)), rows, planned, runs.HOST
            )

    return runs.keep(("experiment", piece), made)


def _with_means(question: ExperimentQuestion) -> Plan:
    """The plan with what a mean ablation puts in, which is of the whole set."""

    def made() -> Plan:
        with runs.turn():
            return with_means(models.on_device(models.open_model(question.read.model)), plan(question), runs.HOST)

    return runs.keep(("experiment means", question), made)


def is_done(piece: Piece) -> bool:
    """Whether a piece has been measured."""
    return runs.kept(("experiment", piece)) is not None


def known(question: ExperimentQuestion) -> Measurement | None:
    """The measurement of the rows that are done; None before the first."""
    parts = [values for piece in pieces_of(question) if (values := runs.kept(("experiment", piece))) is not None]
    return assemble(plan(question), parts, models.open_model(question.read.model).cfg) if parts else None


def results(folder: str) -> Results:
    """What the command has written into a folder.

    Raises:
        HeadlightError: folders may not be opened here, or it holds no experiment that can be read.
    """
    if not models.any_model_allowed():
        raise InputError("Folders are not opened here. Choose a set and measure it on the page.")
    return read_results(Path(folder).expanduser())
