"""The finder: the heads with the largest figure, or the largest change of it, each with its interval."""

from collections.abc import Sequence

import numpy as np

from headlight.app import selection
from headlight.app.components import Column, row_table
from headlight.app.exports.csv_files import Cell
from headlight.app.pages.corpus.choices import Choices
from headlight.app.pages.corpus.found import Found
from headlight.app.parts import tables
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.corpus.titles import Estimates, estimates, figure
from headlight.model.corpus.tree import Head
from headlight.model.runs.edits import head_name

BESIDE = "loss_change"  # what a found head is worth, where the scan has it
HOW = "Choose a row for its dashboard."


def draw(found: Found) -> Head | None:
    """The table; returns the head whose row the user has chosen since the page was last drawn anew."""
    order = found.order()
    place = row_table(
        _columns(found, order),
        title=f"Heads by {figure(found.by).named}",
        caption=f"By {figure(found.by).named.lower()}{'' if found.b is None else ', the largest changes first'}. {HOW}",
        epoch=selection.epoch(str(found.a.folder), found.b and str(found.b.folder), found.by),
        key=selection.widget_key("corpus_finder"),
    )
    return None if place is None else order[place]


def choose(found: Found, heads: tuple[Head, ...]) -> None:
    """Choose heads of the scan; those of the open model are chosen on all pages."""
    if found.own:
        selection.choose(Choices, scan_heads=None, sequence=None)
        selection.choose(heads=heads)
    else:
        selection.choose(Choices, scan_heads=heads, sequence=None)


def _columns(found: Found, order: Sequence[Head]) -> list[Column]:
    names = [head_name(head) for head in order]
    if found.b is None:
        return [Column("head", names), *_of(found.found, order, found.by), *_worth(found, order)]
    of_a, of_b = (values(estimates(tree, found.by), order) for tree in (found.a, found.b))
    sides = [Column("A", of_a, 3), Column("B", of_b, 3)]
    return [Column("head", names), *sides, *_of(found.found, order, DIFFERENCE, signed=True)]


def _of(found: Estimates, order: Sequence[Head], metric: str, signed: bool = False) -> list[Column]:
    its = figure(metric)
    title = DIFFERENCE if metric == DIFFERENCE else its.title
    column = Column(title, values(found, order), 3, signed=signed or its.signed)
    spans = [span(float(found.low[head]), float(found.high[head])) for head in order]
    return [column, Column("95%", spans)] if any(spans) else [column]


def _worth(found: Found, order: Sequence[Head]) -> list[Column]:
    """The loss change of each head beside the figure that it was found by."""
    if BESIDE not in found.metrics or found.by == BESIDE:
        return []
    return [Column("Loss (nats)", values(estimates(found.a, BESIDE), order), 3, figure(BESIDE).title, signed=True)]


def values(found: Estimates, order: Sequence[Head]) -> list[Cell]:
    """One figure of some heads as cells; None where a head has none."""
    return [None if np.isnan(found.values[head]) else float(found.values[head]) for head in order]


def span(low: float, high: float) -> str | None:
    """An interval in words; nothing where there is none."""
    return None if np.isnan(low) or np.isnan(high) else f"{low:.3f} to {high:.3f}".replace("-", "−")


def columns(found: Found) -> tables.Columns:
    """All figures of every head, by the order of the finder."""
    order = found.order()
    every = {figure(metric).named: values(estimates(found.a, metric), order) for metric in found.metrics}
    return {"head": [head_name(head) for head in order], **every}
