"""A cell and a prediction of one run, and all that explains them."""

from dataclasses import dataclass

from headlight.model.attribution.ablation import Outcomes, Replacements, ablation_effects
from headlight.model.attribution.logits import Effects, Question, attribution_by_source, logit_attribution
from headlight.model.attribution.parts import logits_at
from headlight.model.attribution.score import Cell, Why, check, explain_cell
from headlight.model.attribution.write import Written, explain_write
from headlight.model.base.errors import HeadlightError, by_side
from headlight.model.measure import Measure
from headlight.model.measure.alignment import match_positions
from headlight.model.measure.best import best
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.head import attend
from headlight.model.runs.host import kept
from headlight.model.runs.linear import no_logits
from headlight.model.runs.run import Run


@dataclass(frozen=True, eq=False)
class Explained:
    """One run's cell and question, and the replacements of its head's output; positions are the run's own."""

    run: Run
    replacements: Replacements
    cell: Cell
    question: Question

    @property
    def head(self) -> Head:
        """The cell's head."""
        return self.cell.layer, self.cell.head

    @property
    def has_logits(self) -> bool:
        """Whether there is a logit to explain, or the cell's score alone."""
        return not no_logits(self.run.model)

    @property
    def is_read(self) -> bool:
        """Whether the logits are read at the cell's query, or at all tokens."""
        return self.run.cfg.pools_mean or self.cell.query == self.question.position

    @property
    def why(self) -> Why:
        """The cell's score in parts."""
        return explain_cell(self.run, self.cell)

    @property
    def written(self) -> Written:
        """The cell's write."""
        return explain_write(self.run, self.cell, self.question)

    @property
    def outcomes(self) -> Outcomes:
        """The effects of cutting the edge and ablating the head."""
        return ablation_effects(self.run, self.cell, self.question, self.replacements)

    @property
    def effects(self) -> Effects:
        """Direct effects of all components on the logit difference."""
        return logit_attribution(self.run, self.question)

    @property
    def by_source(self) -> Measure:
        """The head's part in that, by source token."""
        return attribution_by_source(self.run, self.head, self.question)


@dataclass(frozen=True)
class CellQuestion:
    """The attention cell and the prediction to explain, by places of the common axis.

    Attributes:
        head: (layer, head).
        query: place of the query.
        key: place of the key; None for the query's strongest key in A, and its match in B.
        target: token id whose logit is explained.
        distractor: token id whose logit is subtracted.
        place: where the logits are read.
        mean_over: prompts for the head's mean in mean ablation; the run's own tokens if empty.
    """

    head: Head
    query: int
    key: int | None
    target: int
    distractor: int
    place: int
    mean_over: tuple[str, ...] = ()


def likeliest(comparison: Comparison, place: int) -> list[int]:
    """The three likeliest tokens (ids) after a place, in the first run that has it, or all of a smaller vocabulary."""
    run, position = run_with(comparison, place)
    return best(logits_at(run, position), 3).indices.tolist()


def run_with(comparison: Comparison, place: int) -> tuple[Run, int]:
    """The first run that has a token at a place, and its position there."""
    return next((run, at) for run in comparison.runs if (at := comparison.positions(run)[place]) is not None)


def explain(comparison: Comparison, question: CellQuestion) -> tuple[dict[str, Explained], dict[str, str]]:
    """Explain the cell in every run that has it; the second result is why others do not."""
    return by_side(comparison.sides, lambda side: explain_side(comparison, question, side))


def explain_side(comparison: Comparison, question: CellQuestion, side: str) -> Explained:
    """Explain the cell in run A or B.

    Raises:
        HeadlightError: the run lacks one of the places, or the cell is above the diagonal; the message says what to do.
    """
    run, (layer, head) = comparison.sides[side], question.head
    positions = comparison.positions(run)
    position, query = positions[question.place], positions[question.query]
    if position is None or query is None:
        which = "place where the prediction is measured" if position is None else "query's place"
        raise HeadlightError(f"{side} has no token at the {which}. Choose another, or show the other run.")
    key = positions[_strongest(comparison, question) if question.key is None else question.key]
    if key is None:
        key = _strongest_key(run, question.head, query)
    cell = Cell(layer, head, query, key)
    check(run, cell)
    return Explained(
        run,
        _replacements_for(comparison, run, question),
        cell,
        Question(question.target, question.distractor, position),
    )


def _strongest(comparison: Comparison, question: CellQuestion) -> int:
    """The place of the query's strongest key, in the first run that has the query."""
    run, query = run_with(comparison, question.query)
    return comparison.positions(run).index(_strongest_key(run, question.head, query))


@kept
def _strongest_key(run: Run, head: Head, query: int) -> int:
    return int(attend(run, *head).pattern[query].argmax())


def _replacements_for(comparison: Comparison, run: Run, question: CellQuestion) -> Replacements:
    other = next((each for each in comparison.runs if each is not run), None)
    if other is None:
        return Replacements(mean_over=question.mean_over)
    return Replacements(
        other, match_positions(run.tokens.tolist(), other.tokens.tolist(), comparison.align), question.mean_over
    )
