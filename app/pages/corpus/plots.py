"""The plots of the page *Corpus*: all heads by two figures, one head's histograms, and a figure along training."""

from pathlib import Path

import numpy as np

from headlight.app.figures import Plot
from headlight.app.figures.corpus import Scale, histogram, scatter, steps
from headlight.app.pages.corpus.found import Found, find
from headlight.app.parts.charts import Rows
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.corpus.titles import Estimates, change, estimates, figure
from headlight.model.corpus.tree import Dashboard, Tree
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name


def of_heads(found: Found) -> Plot:
    """Every head by two figures and a third as its colour; with a B by one figure in A and in B, and its change."""
    places = {head: place for place, head in enumerate(found.listed)}
    chosen = [places[head] for head in found.heads if head in places]
    names = [head_name(head) for head in found.listed]
    return scatter(*scales(found), names, chosen, title=_title(found), even=found.b is not None)


def _title(found: Found) -> str:
    """Which models over which corpora."""
    a, corpus = named(found.a), called(found.a.dataset_name)
    if found.b is None:
        return f"{a} over {corpus}"
    b, other = named(found.b), called(found.b.dataset_name)
    return f"A: {a}; B: {b}; over {corpus}" if corpus == other else f"A: {a} over {corpus}; B: {b} over {other}"


def named(tree: Tree) -> str:
    """A scan's model, with the training step where it has one."""
    step = tree.told.step if tree.told else None
    return f"{called(tree.model_name)}{'' if step is None else f' at step {step:,}'}"


def called(name: str) -> str:
    """What a model or corpus is called where others read it: of a path its last part."""
    return Path(name).name if Path(name).is_absolute() else name


def scales(found: Found) -> tuple[Scale, Scale, Scale]:
    """What runs across, what upwards, and what the colours mean."""
    if found.b is None:
        across, by, colour = (_scale(found, metric) for metric in (found.across, found.by, found.colour))
        return across, by, colour
    named = figure(found.by).named
    a, b = (_of(found, estimates(tree, found.by)) for tree in (found.a, found.b))
    difference = Scale(f"{named}, {DIFFERENCE}", _of(found, change(found.a, found.b, found.by)), signed=True)
    return Scale(f"{named} in A", a), Scale(f"{named} in B", b), difference


def _scale(found: Found, metric: str) -> Scale:
    return Scale(figure(metric).named, _of(found, estimates(found.a, metric)), figure(metric).signed)


def _of(found: Found, values: Estimates) -> np.ndarray:
    return np.array([values.values[head] for head in found.listed])


def of_head(shown: Dashboard) -> Rows:
    """How strongly the head is active over sequences, and how far back it looks."""
    rows: list[list[Plot]] = []
    if shown.histogram is not None:
        title, along = "Largest weight of a sequence", "attention weight, without first row and column"
        each = shown.histogram
        rows.append([histogram(each.bin_edges, each.bin_values, title=title, along=along, unit="sequences")])
    if shown.qk_distance_histogram is not None:
        each = shown.qk_distance_histogram
        title, along = "How far back it looks", "distance from query to key (tokens)"
        n_bins = max([place for place, value in enumerate(each.bin_values, 1) if value] or [1])  # no longer sequence
        edges, values = each.bin_edges[: n_bins + 1], each.bin_values[:n_bins]
        rows.append([histogram(edges, values, title=title, along=along, unit="attention weight")])
    return rows


def over_steps(found: Found) -> Plot | None:
    """The figure of each chosen head along the training; nothing where no other step was scanned."""
    if not found.series:
        return None
    at = np.array([tree.told.step for tree in found.series if tree.told], dtype=float)
    lines = {}
    for head in found.heads:
        of_steps = [estimates(tree, found.by) for tree in found.series]
        values, low, high = (np.array([getattr(each, name)[head] for each in of_steps]) for name in ENDS)
        lines[head_name(head)] = (at, values, low, high)
    return steps(lines, title=f"{figure(found.by).title} along training", unit=figure(found.by).named)


ENDS = ("values", "low", "high")


def taken(comparison: Comparison, chosen: Selection) -> Rows:
    """All of the page's plots, as a file."""
    found = find(comparison, chosen)
    assert found is not None  # without a scan nothing is offered
    trained = over_steps(found)
    return [[of_heads(found)], *([[trained]] if trained else []), *of_head(found.dashboard())]
