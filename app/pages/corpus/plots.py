"""The plots of the page *Corpus*: all heads by two figures, one head's histograms, and a figure along training."""

from pathlib import Path

import numpy as np

from headlight.app.figures import Plot
from headlight.app.figures.corpus import Scale, histogram, scatter, steps
from headlight.app.pages.corpus.scan_view import ScanView, find
from headlight.app.parts.charts import Rows
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.corpus.titles import Estimates, change, estimates, figure
from headlight.model.corpus.tree import Dashboard, Tree
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name


def of_heads(view: ScanView) -> Plot:
    """Every head by two figures and a third as its colour; with a B by one figure in A and in B, and its change."""
    places = {head: place for place, head in enumerate(view.listed)}
    chosen = [places[head] for head in view.heads if head in places]
    names = [head_name(head) for head in view.listed]
    return scatter(*scales(view), names, chosen, title=_title(view), even=view.b is not None)


def _title(view: ScanView) -> str:
    """Title: the models and the corpora."""
    a, corpus = named(view.a), called(view.a.dataset_name)
    if view.b is None:
        return f"{a} over {corpus}"
    b, other = named(view.b), called(view.b.dataset_name)
    return f"A: {a}; B: {b}; over {corpus}" if corpus == other else f"A: {a} over {corpus}; B: {b} over {other}"


def named(tree: Tree) -> str:
    """A scan's model, with the training step where it has one."""
    step = tree.provenance.step if tree.provenance else None
    return f"{called(tree.model_name)}{'' if step is None else f' at step {step:,}'}"


def called(name: str) -> str:
    """Name of a model or corpus for other readers: of a path its last part."""
    return Path(name).name if Path(name).is_absolute() else name


def scales(view: ScanView) -> tuple[Scale, Scale, Scale]:
    """Measures of the two axes and of the colours."""
    if view.b is None:
        across, by, colour = (_scale(view, metric) for metric in (view.across, view.by, view.colour))
        return across, by, colour
    named = figure(view.by).named
    a, b = (_of(view, estimates(tree, view.by)) for tree in (view.a, view.b))
    difference = Scale(f"{named}, {DIFFERENCE}", _of(view, change(view.a, view.b, view.by)), signed=True)
    return Scale(f"{named} in A", a), Scale(f"{named} in B", b), difference


def _scale(view: ScanView, metric: str) -> Scale:
    return Scale(figure(metric).named, _of(view, estimates(view.a, metric)), figure(metric).signed)


def _of(view: ScanView, values: Estimates) -> np.ndarray:
    return np.array([values.values[head] for head in view.listed])


def of_head(dashboard: Dashboard) -> Rows:
    """Distribution of the head's activity over sequences, and of its attention distance."""
    rows: list[list[Plot]] = []
    if dashboard.histogram is not None:
        title, along = "Largest weight of a sequence", "attention weight, without first row and column"
        each = dashboard.histogram
        rows.append([histogram(each.bin_edges, each.bin_values, title=title, along=along, unit="sequences")])
    if dashboard.qk_distance_histogram is not None:
        each = dashboard.qk_distance_histogram
        title, along = "Attention distance", "distance from query to key (tokens)"
        n_bins = max([place for place, value in enumerate(each.bin_values, 1) if value] or [1])  # no longer sequence
        edges, values = each.bin_edges[: n_bins + 1], each.bin_values[:n_bins]
        rows.append([histogram(edges, values, title=title, along=along, unit="attention weight")])
    return rows


def over_steps(view: ScanView) -> Plot | None:
    """The figure of each chosen head along the training; nothing where no other step was scanned."""
    if not view.series:
        return None
    at = np.array([tree.provenance.step for tree in view.series if tree.provenance], dtype=float)
    lines = {}
    for head in view.heads:
        of_steps = [estimates(tree, view.by) for tree in view.series]
        values, low, high = (np.array([getattr(each, name)[head] for each in of_steps]) for name in ENDS)
        lines[head_name(head)] = (at, values, low, high)
    return steps(lines, title=f"{figure(view.by).title} along training", unit=figure(view.by).named)


ENDS = ("values", "low", "high")


def taken(comparison: Comparison, chosen: Selection) -> Rows:
    """All of the page's plots, as a file."""
    view = find(comparison, chosen)
    assert view is not None  # without a scan nothing is offered
    trained = over_steps(view)
    return [[of_heads(view)], *([[trained]] if trained else []), *of_head(view.dashboard())]
