"""What the page *Experiments* draws, for the page and its files: the map or plot of each side, and its tables."""

from typing import Any

import numpy as np

from headlight.app.components import CellMap
from headlight.app.exports.data import Table
from headlight.app.figures import Plot
from headlight.app.figures.over_rows import Rows, distribution
from headlight.app.pages.experiments import finding, maps
from headlight.app.pages.experiments.experiment import Experiment, rows_note
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


def measurement_of(experiment: Experiment, name: str) -> Measurement:
    """The measurement whose labels a side has; B − A has those of the smaller one."""
    side = experiment.sides.get(name, experiment.first)
    assert side.measurement is not None  # it is measured
    return side.measurement


def map_of(experiment: Experiment, name: str) -> CellMap:
    """The map of a side."""
    assert experiment.laid is not None  # it is measured
    measurement = measurement_of(experiment, name)
    own = {name: experiment.summaries[name]} if name == DIFFERENCE else _alone(experiment)
    fixed = "".join(f", {axis} {measurement.axis_labels(axis)[place]}" for axis, place in experiment.laid.fixed.items())
    called = f"{title(experiment.settings)}{fixed}, mean ({measurement.measure.unit})"
    signed = experiment.settings.measure != "patterns" or name == DIFFERENCE
    return maps.cell_map(
        measurement,
        experiment.summaries[name],
        experiment.laid,
        f"{name}: {called}" if name else called,
        maps.limit_of(own),
        signed,
    )


def _alone(experiment: Experiment) -> dict[str, Summary]:
    return {name: summary for name, summary in experiment.summaries.items() if name != DIFFERENCE}


def plot_of(experiment: Experiment) -> Plot:
    """Points with intervals, of every side."""
    assert experiment.laid is not None  # it is measured
    return maps.plot(
        measurement_of(experiment, ""),
        experiment.summaries,
        experiment.laid,
        f"{title(experiment.settings)}, mean over rows",
    )


def drawn_cell(experiment: Experiment, cell: tuple[int, ...]) -> Plot:
    """The distribution of one cell over the rows, by side; B − A row by row where both have the same rows."""
    of_rows = {name: _rows(experiment, name, cell) for name in experiment.sides}
    if experiment.is_paired and len(of_rows) == 2:
        of_rows[DIFFERENCE] = _paired(experiment, cell)
    measurement = measurement_of(experiment, "")
    called = f"{maps.name_of(measurement, cell)}: {title(experiment.settings).lower()}"
    return distribution(of_rows, title=called, unit=measurement.measure.unit)


def values_of(measurement: Measurement, cell: tuple[int, ...]) -> np.ndarray:
    """A cell's value in every row."""
    index: tuple[slice | int, ...] = (slice(None), *cell)
    values: np.ndarray = measurement.measure.values[index].double().numpy()
    return values


def _rows(experiment: Experiment, name: str, cell: tuple[int, ...]) -> Rows:
    measurement = measurement_of(experiment, name)
    names = [f"row {number}" for number in measurement.rows]
    return Rows(values_of(measurement, cell), names, *_ends(experiment.summaries[name], cell))


def _paired(experiment: Experiment, cell: tuple[int, ...]) -> Rows:
    a, b = (
        dict(zip(measurement.rows, values_of(measurement, cell).tolist(), strict=True))
        for measurement in (measurement_of(experiment, name) for name in experiment.sides)
    )
    numbers = [number for number in a if number in b]
    values = np.array([b[number] - a[number] for number in numbers])
    return Rows(values, [f"row {number}" for number in numbers], *_ends(experiment.summaries[DIFFERENCE], cell))


def _ends(summary: Summary, cell: tuple[int, ...]) -> tuple[float, float, float]:
    return float(summary.mean[cell]), float(summary.low[cell]), float(summary.high[cell])


def tables_of(experiment: Experiment) -> dict[str, Table]:
    """The tables of the library, which the script prints too."""
    measured = [measurement_of(experiment, name) for name in experiment.sides]
    b = measured[1] if len(measured) == 2 else None
    return dict(experiment_tables(measured[0], b, **table_options(experiment)))


def table_options(experiment: Experiment) -> dict[str, Any]:
    """What was chosen of the tables."""
    settings = experiment.settings
    paired = {} if len(experiment.sides) == 1 else {"paired": experiment.is_paired}
    return {**paired, "interval": settings.interval, "seed": settings.seed, "cell": index_of(experiment) or ()}


def index_of(experiment: Experiment) -> tuple[int, ...] | None:
    """The chosen cell among all cells, or the largest one; None where no cell has a value."""
    assert experiment.laid is not None  # it is measured
    if experiment.cell is not None:
        return experiment.laid.cell(*experiment.cell)
    return next(iter(maps.order(next(iter(experiment.summaries.values())), 1)), None)


def findings(experiment: Experiment) -> list[str]:
    """A sentence for each side that says what its means show, and one for B − A."""
    said = {
        name: finding.sentence(measurement_of(experiment, name), experiment.summaries[name], experiment.settings)
        for name in experiment.sides
    }
    if DIFFERENCE in experiment.summaries:
        said[DIFFERENCE] = finding.of_difference(
            measurement_of(experiment, DIFFERENCE), experiment.summaries[DIFFERENCE]
        )
    return [f"{name}: {sentence}" if name else sentence for name, sentence in said.items()]


def note(experiment: Experiment) -> str:
    """The findings, with what the means are over."""
    lines = (rows_note(side, experiment.settings) for side in experiment.sides.values())
    return " ".join([*findings(experiment), *filter(None, lines)])
