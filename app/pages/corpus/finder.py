"""The finder: the heads with the largest figure, or the largest change of it, each with its interval."""

from collections.abc import Sequence

import numpy as np

from headlight.app import selection
from headlight.app.components import Column, Table, row_table
from headlight.app.exports.csv_files import Cell
from headlight.app.pages.corpus.choices import Choices
from headlight.app.pages.corpus.scan_view import ScanView
from headlight.app.parts import tables
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.corpus.titles import Estimates, estimates, figure
from headlight.model.corpus.tree import Head
from headlight.model.runs.edits import head_name

BESIDE = "loss_change"  # the effect of ablating a ranked head, where the scan has it
HOW = "Click a row for its dashboard."


def draw(view: ScanView) -> Head | None:
    """Draw the table; return the head whose row the user has chosen since the page was last drawn."""
    order, by = view.order(), figure(view.by).named
    changes = "" if view.b is None else ", the largest changes first"
    place = row_table(
        Table(_columns(view, order), title=f"Heads by {by}", caption=f"By {by.lower()}{changes}. {HOW}"),
        epoch=selection.epoch(str(view.a.folder), view.b and str(view.b.folder), view.by),
        key=selection.widget_key("corpus_finder"),
    )
    return None if place is None else order[place]


def choose(view: ScanView, heads: tuple[Head, ...]) -> None:
    """Choose heads of the scan; those of the open model are chosen on all pages."""
    if view.own:
        selection.choose(Choices, scan_heads=None, sequence=None)
        selection.choose(heads=heads)
    else:
        selection.choose(Choices, scan_heads=heads, sequence=None)


def _columns(view: ScanView, order: Sequence[Head]) -> list[Column]:
    names = [head_name(head) for head in order]
    if view.b is None:
        return [Column("head", names), *_of(view.ordering, order, view.by), *_worth(view, order)]
    of_a, of_b = (values(estimates(tree, view.by), order) for tree in (view.a, view.b))
    sides = [Column("A", of_a, 3), Column("B", of_b, 3)]
    return [Column("head", names), *sides, *_of(view.ordering, order, DIFFERENCE, signed=True)]


def _of(ordering: Estimates, order: Sequence[Head], metric: str, signed: bool = False) -> list[Column]:
    its = figure(metric)
    title = DIFFERENCE if metric == DIFFERENCE else its.title
    column = Column(title, values(ordering, order), 3, signed=signed or its.signed)
    spans = [span(float(ordering.low[head]), float(ordering.high[head])) for head in order]
    return [column, Column("95%", spans)] if any(spans) else [column]


def _worth(view: ScanView, order: Sequence[Head]) -> list[Column]:
    """The loss change of each head, beside the metric that heads are ranked by."""
    if BESIDE not in view.metrics or view.by == BESIDE:
        return []
    return [Column("Loss (nats)", values(estimates(view.a, BESIDE), order), 3, figure(BESIDE).title, signed=True)]


def values(metric: Estimates, order: Sequence[Head]) -> list[Cell]:
    """One figure of some heads as cells; None where a head has none."""
    return [None if np.isnan(metric.values[head]) else float(metric.values[head]) for head in order]


def span(low: float, high: float) -> str | None:
    """An interval in words; nothing where there is none."""
    return None if np.isnan(low) or np.isnan(high) else f"{low:.3f} to {high:.3f}".replace("-", "−")


def columns(view: ScanView) -> tables.Columns:
    """All figures of every head, by the order of the finder."""
    order = view.order()
    every = {figure(metric).named: values(estimates(view.a, metric), order) for metric in view.metrics}
    return {"head": [head_name(head) for head in order], **every}
