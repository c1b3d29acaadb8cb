"""What the page *Experiments* is about: the sets, the models that read them, and what has been measured so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headlight.app.pages.experiments import maps
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.maps import Layout
from headlight.app.pages.experiments.set_table import SetRows
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.runs import experiments, prompt_sets
from headlight.app.runs.experiments import Piece
from headlight.app.runs.prompt_sets import KnownSet, ReadSet
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import InputError
from headlight.model.experiments.difference import common, difference
from headlight.model.experiments.intervals import Summary, summarise
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.results import Results
from headlight.model.experiments.settings import ExperimentSettings, MetricKind
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from headlight.model.text.chat import is_begun


@dataclass(frozen=True, eq=False)
class ReadRows:
    """A set as a model reads it; `run` is of that model."""

    run: Run
    rows: SetRows


@dataclass(frozen=True, eq=False)
class Side:
    """One set read by one model, the pieces in which it is measured, and what is known of them."""

    run: Run
    rows: SetRows
    pieces: tuple[Piece, ...]
    measurement: Measurement | None

    @property
    def complete(self) -> bool:
        """Whether every row has been measured."""
        n_rows = sum(len(piece.numbers) for piece in self.pieces)
        return self.measurement is not None and len(self.measurement.rows) >= n_rows


@dataclass(frozen=True, eq=False)
class Experiment:
    """One measure over a set, or over two, by the sides' names; a side alone has none."""

    settings: ExperimentSettings
    sides: Mapping[str, Side]
    summaries: Mapping[str, Summary]
    laid: Layout | None
    chosen: tuple[int, int] | None = None

    @property
    def cell(self) -> tuple[int, int] | None:
        """The chosen cell of the map, if it has that; of points the first number is 0."""
        if self.chosen is None or self.laid is None:
            return None
        height, width = self.laid.arrange(next(iter(self.summaries.values())).mean).shape
        return self.chosen if self.chosen[0] < height and self.chosen[1] < width else None

    @property
    def first(self) -> Side:
        """The side that is there always."""
        return next(iter(self.sides.values()))

    @property
    def is_measured(self) -> bool:
        """Whether every side has something to show."""
        return self.laid is not None

    @property
    def is_complete(self) -> bool:
        """Whether every row of every side has been measured."""
        return all(side.complete for side in self.sides.values())

    @property
    def is_paired(self) -> bool:
        """Whether the sides are the same set, so that B − A is taken row by row."""
        return is_paired(self.sides)


def is_paired(sides: Mapping[str, Side] | Mapping[str, ReadRows]) -> bool:
    """Whether all sides are of the same set."""
    return len({side.rows.read.known for side in sides.values()}) == 1


def rows_of(known: Sequence[KnownSet], comparison: Comparison, chosen: Selection) -> dict[str, ReadRows]:
    """The sets and the runs of the models that read them, by the sides' names.

    There is a B where there is a second set, or else where the prompt bar has another model.

    Raises:
        HeadlightError: a set cannot be read by a model.
    """
    metric, a, b = metric_of(chosen), comparison.a, comparison.b
    if len(known) == 2:
        return {side: _rows(a, one, metric) for side, one in zip("AB", known, strict=True)}
    if b is not None and not b.same_model(a):
        return {"A": _rows(a, known[0], metric), "B": _rows(b, known[0], metric)}
    return {"": _rows(a, known[0], metric)}


def _rows(run: Run, known: KnownSet, metric: MetricKind) -> ReadRows:
    read = ReadSet(run.source.name, run.bos, known)
    performed = prompt_sets.known_performance(prompt_sets.performance_pieces(read, metric))
    return ReadRows(run, SetRows(read, prompt_sets.tokens_of(read), performed))


def metric_of(chosen: Selection) -> MetricKind:
    """What is measured of the logits at the end."""
    return chosen.choices_of(Choices).exp_metric


def settings_of(comparison: Comparison, chosen: Selection) -> ExperimentSettings:
    """What is to be measured."""
    cfg = comparison.a.cfg
    return chosen.choices_of(Choices).settings(cfg.n_layers, cfg.n_heads, is_begun(comparison.a.bos))


def of_rows(rows: Mapping[str, ReadRows], comparison: Comparison, chosen: Selection) -> Experiment:
    """The experiment with what is known of it.

    Raises:
        HeadlightError: this measure cannot be taken of a set.
    """
    settings = settings_of(comparison, chosen)
    sides = {name: _side(read, settings) for name, read in rows.items()}
    return _experiment(settings, sides, chosen)


def of_results(results: Results, rows: Mapping[str, ReadRows], chosen: Selection) -> Experiment:
    """What the command has measured, beside the first side's rows.

    Raises:
        HeadlightError: the results are of another set than the one whose rows are there.
    """
    read = next(iter(rows.values()))
    check_set(read, results.set_name)
    side = Side(read.run, read.rows, (), results.measurement)
    return _experiment(results.settings, {"": side}, chosen)


def check_set(read: ReadRows, set_name: str) -> None:
    """Refuse results of another set than the one that is open.

    Raises:
        HeadlightError: they are.
    """
    if (name := read.rows.read.known.prompt_set.name) != set_name:
        raise InputError(
            f"These results are of the set {set_name}, and {name} is open. Choose that set to open its results."
        )


def _experiment(settings: ExperimentSettings, sides: dict[str, Side], chosen: Selection) -> Experiment:
    measured = {name: side.measurement for name, side in sides.items() if side.measurement is not None}
    if len(measured) < len(sides):
        return Experiment(settings, sides, {}, None)
    if len(measured) == 2:
        measured = dict(zip(measured, common(*measured.values()), strict=True))
        sides = {name: replace(side, measurement=measured[name]) for name, side in sides.items()}
    summaries = {
        name: summarise(measurement.measure.values, settings.interval, settings.seed)
        for name, measurement in measured.items()
    }
    first = next(iter(sides))
    laid = maps.layout(measured[first], summaries[first], chosen.choices_of(Choices).exp_place)
    if len(measured) == 2:
        a, b = measured.values()
        summaries[DIFFERENCE] = difference(a, b, is_paired(sides), settings.interval, settings.seed)
    return Experiment(settings, sides, summaries, laid, chosen.choices_of(Choices).exp_cell)


def whole(known: Sequence[KnownSet], comparison: Comparison, chosen: Selection) -> Experiment:
    """The experiment with every row measured; what the cache has lost in the meantime is measured again.

    Raises:
        HeadlightError: a set cannot be read, or this measure cannot be taken of it.
    """
    rows, settings = rows_of(known, comparison, chosen), settings_of(comparison, chosen)
    for side in rows.values():
        for answers in prompt_sets.performance_pieces(side.rows.read, settings.metric):
            prompt_sets.do_performance(answers)
        for piece in experiments.pieces_of(experiments.ExperimentQuestion(side.rows.read, settings)):
            experiments.do(piece)
    return of_rows(rows_of(known, comparison, chosen), comparison, chosen)


def _side(read: ReadRows, settings: ExperimentSettings) -> Side:
    question = experiments.ExperimentQuestion(read.rows.read, settings)
    return Side(read.run, read.rows, experiments.pieces_of(question), experiments.known(question))


def rows_note(side: Side, settings: ExperimentSettings) -> str:
    """What a mean is over, where that is not every row."""
    parts, n_rows = [], len(side.rows.pairs)
    if side.measurement is not None:
        if not side.complete:
            parts.append(f"so far {len(side.measurement.rows):,} rows are measured")
        if left := side.measurement.left_out:
            number, reason = next(iter(left.items()))
            said_of_row = reason if reason.startswith("Row ") else f"Row {number}: {reason}"
            parts.append(f"{len(left):,} of {n_rows:,} rows are left out. {said_of_row}")
    if settings.only_correct:
        parts.insert(0, "rows that the model answers correctly")
    return "; ".join(parts)
