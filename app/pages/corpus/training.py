"""Figures along a training: of the chosen heads in the scan of each step, and when each head changed."""

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Listed, Option, Table, row_table
from headlight.app.pages.corpus import finder, plots
from headlight.app.pages.corpus.scan_view import WIDTHS, ScanView
from headlight.app.parts import charts, options
from headlight.app.parts.parts import title_row
from headlight.app.runs import scans
from headlight.model.corpus.titles import change, estimates, figure, half_way
from headlight.model.runs.edits import head_name

HALF_WAY = (
    "The step from which the figure stays closer to its last value than to its first; empty where the two do not "
    "differ significantly."
)


def draw(view: ScanView) -> None:
    """The plot with the choice of a step, and the table of all heads; nothing where no other step was scanned."""
    plot = plots.over_steps(view)
    if plot is None:
        return
    with title_row(f"Along training: {', '.join(map(head_name, view.heads))}", "corpus_steps", key="corpus_steps"):
        options.row(_step(view), name="corpus_steps", whole=True)
    left, right = st.columns(WIDTHS, gap="medium")
    with left:
        charts.alone([[plot]], f"{figure(view.by).title} of the chosen heads along training", "corpus_steps_figure")
    with right:
        _growth(view)


def _step(view: ScanView) -> Option:
    """A menu of the training steps that have a scan."""
    named = {scans.chosen_as(tree): f"{tree.provenance.step:,}" for tree in view.series if tree.provenance}
    current = scans.chosen_as(view.a)
    if current not in named:  # the model as it is, beside scans of its training
        named = {current: "none"} | named

    def change(name: str) -> None:
        selection.choose(scan=name)

    return options.tie(Listed, "corpus_step", "Step", current, change, options=named, width=100)


def _growth(view: ScanView) -> None:
    """Every head's figure at the first step and at the last, and when it was half way; the largest changes first."""
    at = half_way(view.series, view.by)
    steps = {head: None if np.isnan(at[head]) else int(at[head]) for head in view.series[-1].rows}
    size = np.abs(np.nan_to_num(change(view.series[0], view.series[-1], view.by).values))
    order = sorted(steps, key=lambda head: -size[head])
    ends = {
        tree.provenance.step: estimates(tree, view.by) for tree in (view.series[0], view.series[-1]) if tree.provenance
    }
    place = row_table(
        Table(
            [
                Column("head", [head_name(head) for head in order]),
                *(Column(f"step {step:,}", finder.values(each, order), 3) for step, each in ends.items()),
                Column("half way", [steps[head] for head in order], 0, HALF_WAY),
            ],
            title=f"When each head's {figure(view.by).title.lower()} emerged",
            caption=f"{figure(view.by).named} of every head, the largest changes first. {finder.HOW}",
        ),
        epoch=selection.epoch(str(view.a.folder), view.by, "growth"),
        key=selection.widget_key("corpus_growth"),
    )
    if place is not None and order[place] != view.head:
        finder.choose(view, options.head_first(order[place], view.heads[1:]))
        st.rerun()
