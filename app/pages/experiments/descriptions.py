"""What the page *Experiments* draws, for the page and its files: the map or plot of each side, and its tables."""

from typing import Any

import numpy as np

from headlight.app.components import CellMap
from headlight.app.exports.data import Table
from headlight.app.figures import Plot
from headlight.app.figures.over_rows import Rows, distribution
from headlight.app.pages.experiments import experiment, finding, maps
from headlight.app.pages.experiments.experiment import Experiment
from headlight.app.pages.experiments.finding import METRICS, PARTS, READ, REPLACED
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.experiments.intervals import Summary
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.experiments.tables import experiment_tables

TITLES = {
    "dla": "Direct effect on the logit difference",
    "patching": "{Metric} restored by patching",
    "attribution": "{Metric} restored, estimated by gradients",
    "path": "{Metric} carried by the path into {receiver}'s {read}",
    "lens": "{Metric} read off by the logit lens",
    "patterns": "Attention weight",
    "ablation": "Change of the {metric} with the {part} replaced by {replaced}",
}


def title(settings: ExperimentSettings) -> str:
    """What the numbers are."""
    metric = METRICS[settings.metric]
    words = {
        "metric": metric,
        "Metric": metric.capitalize(),
        "receiver": settings.receiver,
        "read": READ[settings.read],
    }
    words |= {"part": PARTS.get(settings.part, settings.part), "replaced": REPLACED[settings.ablation]}
    said = TITLES[settings.measure].format(**words)
    return said.replace("restored", "undone") if settings.direction == "noise" else said


def measurement_of(shown: Experiment, name: str) -> Measurement:
    """The measurement whose labels a side has; B − A has those of the smaller one."""
    side = shown.sides.get(name, shown.first)
    assert side.measurement is not None  # it is measured
    return side.measurement


def map_of(shown: Experiment, name: str) -> CellMap:
    """The map of a side."""
    assert shown.laid is not None  # it is measured
    measurement = measurement_of(shown, name)
    own = {name: shown.summaries[name]} if name == DIFFERENCE else _alone(shown)
    fixed = "".join(f", {axis} {measurement.axis_labels(axis)[place]}" for axis, place in shown.laid.fixed.items())
    called = f"{title(shown.settings)}{fixed}, mean ({measurement.measure.unit})"
    signed = shown.settings.measure != "patterns" or name == DIFFERENCE
    return maps.cell_map(
        measurement,
        shown.summaries[name],
        shown.laid,
        f"{name}: {called}" if name else called,
        maps.limit_of(own),
        signed,
    )


def _alone(shown: Experiment) -> dict[str, Summary]:
    return {name: of for name, of in shown.summaries.items() if name != DIFFERENCE}


def plot_of(shown: Experiment) -> Plot:
    """Points with intervals, of every side."""
    assert shown.laid is not None  # it is measured
    return maps.plot(measurement_of(shown, ""), shown.summaries, shown.laid, f"{title(shown.settings)}, mean over rows")


def drawn_cell(shown: Experiment, cell: tuple[int, ...]) -> Plot:
    """The distribution of one cell over the rows, by side; B − A row by row where both have the same rows."""
    of_rows = {name: _rows(shown, name, cell) for name in shown.sides}
    if shown.is_paired and len(of_rows) == 2:
        of_rows[DIFFERENCE] = _paired(shown, cell)
    measurement = measurement_of(shown, "")
    called = f"{maps.name_of(measurement, cell)} over the rows: {title(shown.settings).lower()}"
    return distribution(of_rows, title=called, unit=measurement.measure.unit)


def values_of(measurement: Measurement, cell: tuple[int, ...]) -> np.ndarray:
    """A cell's value in every row."""
    index: tuple[slice | int, ...] = (slice(None), *cell)
    values: np.ndarray = measurement.measure.values[index].double().numpy()
    return values


def _rows(shown: Experiment, name: str, cell: tuple[int, ...]) -> Rows:
    measurement = measurement_of(shown, name)
    names = [f"row {number}" for number in measurement.rows]
    return Rows(values_of(measurement, cell), names, *_ends(shown.summaries[name], cell))


def _paired(shown: Experiment, cell: tuple[int, ...]) -> Rows:
    a, b = (
        dict(zip(of.rows, values_of(of, cell).tolist(), strict=True))
        for of in (measurement_of(shown, name) for name in shown.sides)
    )
    numbers = [number for number in a if number in b]
    values = np.array([b[number] - a[number] for number in numbers])
    return Rows(values, [f"row {number}" for number in numbers], *_ends(shown.summaries[DIFFERENCE], cell))


def _ends(summary: Summary, cell: tuple[int, ...]) -> tuple[float, float, float]:
    return float(summary.mean[cell]), float(summary.low[cell]), float(summary.high[cell])


def tables_of(shown: Experiment) -> dict[str, Table]:
    """The tables of the library, which the script prints too."""
    measured = [measurement_of(shown, name) for name in shown.sides]
    b = measured[1] if len(measured) == 2 else None
    return dict(experiment_tables(measured[0], b, **table_options(shown)))


def table_options(shown: Experiment) -> dict[str, Any]:
    """What was chosen of the tables."""
    settings = shown.settings
    paired = {} if len(shown.sides) == 1 else {"paired": shown.is_paired}
    return {**paired, "interval": settings.interval, "seed": settings.seed, "cell": index_of(shown) or ()}


def index_of(shown: Experiment) -> tuple[int, ...] | None:
    """The chosen cell among all cells, or the largest one; None where no cell has a value."""
    assert shown.laid is not None  # it is measured
    if shown.cell is not None:
        return shown.laid.cell(*shown.cell)
    return next(iter(maps.order(next(iter(shown.summaries.values())), 1)), None)


def findings(shown: Experiment) -> list[str]:
    """A sentence for each side that says what its means show, and one for B − A."""
    said = {
        name: finding.sentence(measurement_of(shown, name), shown.summaries[name], shown.settings)
        for name in shown.sides
    }
    if DIFFERENCE in shown.summaries:
        said[DIFFERENCE] = finding.of_difference(measurement_of(shown, DIFFERENCE), shown.summaries[DIFFERENCE])
    return [f"{name}: {sentence}" if name else sentence for name, sentence in said.items()]


def said(shown: Experiment) -> str:
    """The findings, with what the means are over."""
    lines = (experiment.said(side, shown.settings) for side in shown.sides.values())
    return " ".join([*findings(shown), *filter(None, lines)])
