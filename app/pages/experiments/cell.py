"""The chosen cell: its distribution over the rows, and the rows that deviate most, which open as A | B."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Table, row_table
from headlight.app.pages.experiments import descriptions, finding, maps, set_table
from headlight.app.pages.experiments.experiment import Experiment
from headlight.app.parts import charts
from headlight.app.parts.parts import heading
from headlight.model.experiments.intervals import deviating
from headlight.model.experiments.measurement import Measurement
from headlight.model.runs.edits import Head

MAX_DEVIATING = 5


def draw(experiment: Experiment) -> None:
    """What is known of the chosen cell, or of the largest where none is."""
    index = descriptions.index_of(experiment)
    if index is None:
        return
    measurement = descriptions.measurement_of(experiment, "")
    name = maps.name_of(measurement, index)
    heading(f"{name} over the rows", "experiment_cell", key="experiment_cell")
    sentence = finding.of_cell(
        measurement, experiment.summaries[next(iter(experiment.sides))], experiment.settings, index
    )
    if not any(sentence in said for said in descriptions.findings(experiment)):
        with st.container(key="headlight-said-cell"):
            st.text(f"{sentence[:1].upper()}{sentence[1:]}")
    plot = descriptions.drawn_cell(experiment, index)
    charts.alone([[plot]], plot.title, "experiment_rows")
    _deviating(experiment, measurement, index)


def _deviating(experiment: Experiment, measurement: Measurement, index: tuple[int, ...]) -> None:
    """The rows farthest from the mean, of which one can be opened."""
    places = deviating(measurement.measure.values, index, MAX_DEVIATING)
    if not places:
        return
    values, numbers = descriptions.values_of(measurement, index), [measurement.rows[place] for place in places]
    rows = experiment.first.rows
    heading("Rows that deviate most", "experiment_deviating", key="experiment_deviating")
    chosen = row_table(
        Table(
            [
                Column("#", numbers),
                Column(
                    "prompt", [set_table.cut(set_table.written(rows.pairs[number - 1].clean)) for number in numbers]
                ),
                Column("value", [float(values[place]) for place in places], 3, signed=True),
            ],
            title="Rows that deviate most from the mean",
            caption="Click a row to open it as A | B.",
        ),
        epoch=selection.epoch(rows.read, experiment.settings, index),
        key=selection.widget_key("experiment_deviating"),
        whole=True,
    )
    set_table.draw_row(rows, numbers[chosen or 0], experiment.first.run, "deviating", head_of(measurement, index))


def head_of(measurement: Measurement, index: tuple[int, ...]) -> Head | None:
    """The head that a cell is of, if it is of one."""
    at = dict(zip(measurement.cell_axes, index, strict=True))
    if "head" not in at or "layer" not in at or "head" in measurement.labels:
        return None
    return at["layer"], at["head"]
