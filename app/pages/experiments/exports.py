"""What is taken along of the page *Experiments*: its script, its numbers, and a file of its maps and rows."""

from collections.abc import Sequence
from functools import partial

from headlight.app import selection
from headlight.app.components import Column, Table
from headlight.app.exports.data import Count, Data
from headlight.app.exports.drawings import Drawing, Drawings, on_screen
from headlight.app.exports.export import Export
from headlight.app.exports.script import loading, printing
from headlight.app.pages.experiments import circuit_exports, descriptions, set_table, sets
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.descriptions import drawn_cell, index_of, map_of, plot_of, table_options, tables_of
from headlight.app.pages.experiments.experiment import Experiment, Side, of_rows, rows_of, whole
from headlight.app.runs import comparisons, prompt_sets
from headlight.app.runs.prompt_sets import KnownSet
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.measure import Measure
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.comparison import Comparison

PURPOSE = "One measure over a set of prompts, with intervals over its rows."
MAX_LISTED = 500  # rows of the set in the html file; the csv file has all


def export() -> Export | None:
    """What the page offers of the sets that the session has, once every row of them is measured."""
    chosen = selection.current()
    try:
        comparison = comparisons.for_selection(chosen)
        known = sets.chosen(comparison)
        if not known or chosen.choices_of(Choices).exp_results:
            return None  # the command's folder holds its own
        if chosen.choices_of(Choices).exp_circuit:
            return circuit_exports.export(known, chosen)
        experiment = of_rows(rows_of(known, comparison, chosen), comparison, chosen)
    except HeadlightError:
        return None
    return make_export(known) if experiment.is_measured and experiment.is_complete else None


def make_export(known: Sequence[KnownSet]) -> Export:
    """The files of what is measured over these sets, which are made later, outside the session."""
    return Export("experiments", partial(script, known), partial(data, known), partial(drawings, known), has_plots=True)


def script(known: Sequence[KnownSet], comparison: Comparison, chosen: Selection) -> str:
    """A script that measures the same and prints every cell and every row."""
    experiment = whole(known, comparison, chosen)
    lines, expressions = list[str](), list[str]()
    names = {"load", "run_experiment", "ExperimentSettings"}
    loaded: dict[str, str] = {}
    read: dict[str, str] = {}
    for name, side in experiment.sides.items():
        suffix = "_b" if name == "B" else ""
        source, own = side.run.source.name, side.rows.read.known
        if source not in loaded:
            loaded[source] = f"model{suffix}"
            lines.append(f"{loaded[source]} = {loading(side.run)}")
        if own.digest not in read:
            read[own.digest] = f"prompt_set{suffix}"
            names |= prompt_sets.names_in_script(own)
            lines.append(f"{read[own.digest]} = {prompt_sets.in_script(own)}")
        if not expressions:
            lines.append(f"settings = {experiment.settings!r}")
        measured = f"measurement{suffix}"
        model, prompt_set = loaded[source], read[own.digest]
        lines.append(f"{measured} = run_experiment({model}, {prompt_set}, settings, {side.rows.read.bos!r})")
        expressions.append(measured)
    return printing(PURPOSE, names, lines, "experiment_tables", *expressions, **table_options(experiment))


def data(known: Sequence[KnownSet], comparison: Comparison, chosen: Selection) -> Data:
    """The tables, the set with the answers, every row's values, and each cell's mean and interval."""
    experiment = whole(known, comparison, chosen)
    arrays: dict[str, Measure | Count] = {}
    for name in experiment.sides:
        measurement = descriptions.measurement_of(experiment, name)
        arrays[f"{name or 'A'} values"] = measurement.measure
        if measurement.raw is not None:
            arrays[f"{name or 'A'} raw"] = measurement.raw
    measure = descriptions.measurement_of(experiment, "").measure
    axes = measure.axes[1:]
    for name, of_cells in experiment.summaries.items():
        called = {"": "A", "B − A": DIFFERENCE.replace(" ", "")}.get(name, name)
        for part in ("mean", "low", "high"):
            arrays[f"{called} {part}"] = Measure(f"{measure.name}, {part}", measure.unit, axes, getattr(of_cells, part))
        agree = Measure("share of rows with the mean's sign", "share", axes, of_cells.share_of_sign)
        arrays[f"{called} share of sign"] = agree
        arrays[f"{called} count"] = Count("rows that have the cell", "rows", axes, of_cells.count)
    sets = {f"set {name or 'A'}": _set_table(side) for name, side in experiment.sides.items()}
    return Data("experiments", _shows(experiment), {**tables_of(experiment), **sets}, arrays)


def _set_table(side: Side) -> set_table.Cells:
    return set_table.columns(side.rows, range(1, len(side.rows.pairs) + 1), side.run.outputs)


def _shows(experiment: Experiment) -> dict[str, object]:
    measurement = descriptions.measurement_of(experiment, "")
    labels = {axis: list(measurement.axis_labels(axis)) for axis in measurement.cell_axes}
    return {
        "measure": descriptions.title(experiment.settings),
        "settings": experiment.settings.as_dict(),
        "sets": {name or "A": side.rows.read.known.prompt_set.name for name, side in experiment.sides.items()},
        "models": {name or "A": side.run.source.name for name, side in experiment.sides.items()},
        "axes": labels,
        "rows": {name or "A": list(descriptions.measurement_of(experiment, name).rows) for name in experiment.sides},
        "B - A": "row by row" if experiment.is_paired else "of two sets",
        "interval": "95%, over rows",
    }


def drawings(known: Sequence[KnownSet], comparison: Comparison, chosen: Selection) -> Drawings:
    """Each side's map, or all sides' points; the chosen cell over the rows; and the set."""
    experiment = whole(known, comparison, chosen)
    assert experiment.laid is not None  # it is measured
    if experiment.laid.rows is None:
        rows = [[Drawing(plot_of(experiment))]]
    else:
        cell = experiment.cell or experiment.laid.place_in_map(index_of(experiment))
        rows = [[Drawing(map_of(experiment, name), chosen=cell, group="experiment")] for name in experiment.summaries]
    if (index := index_of(experiment)) is not None:
        rows.append([Drawing(drawn_cell(experiment, index))])
    rows += [[on_screen(_listed(side, name))] for name, side in experiment.sides.items()]
    called = ", ".join(dict.fromkeys(side.rows.read.known.prompt_set.name for side in experiment.sides.values()))
    return Drawings(
        f"Experiments, {called},", Comparison(comparison.a), rows, tokens=False, note=descriptions.note(experiment)
    )


def _listed(side: Side, name: str) -> Table:
    numbers = list(range(1, len(side.rows.pairs) + 1))[:MAX_LISTED]
    cells = set_table.columns(side.rows, numbers, side.run.outputs)
    columns = [Column(heading, list(map(set_table.cut, column))) for heading, column in cells.items()]
    return Table(columns, f"{name and f'{name}: '}{side.rows.read.known.prompt_set.name}")
