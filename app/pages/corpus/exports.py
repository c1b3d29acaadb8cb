"""Exports of the page *Corpus*: its script, its numbers, and a file of all heads."""

from typing import Any

import torch

from headlight.app.components import CellMap, SampledTexts
from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawing, Drawings, on_screen, table
from headlight.app.exports.script import Expression, printing
from headlight.app.pages.corpus import finder, plots
from headlight.app.pages.corpus.dashboard import shown_texts
from headlight.app.pages.corpus.plots import called, named
from headlight.app.pages.corpus.scan_view import ScanView, find
from headlight.app.parts.grid import head_axes
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.runs import scans
from headlight.app.selection.chosen import Selection
from headlight.model.corpus.tables import corpus_tables
from headlight.model.corpus.titles import FIGURES, estimates, figure
from headlight.model.corpus.tree import Tree
from headlight.model.measure import Measure, Unit
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

PURPOSE = "What every head does over a corpus, and the sequences of some."
UNITS: dict[str, Unit] = {  # metrics written as arrays; the tables have all
    "attention weight": "probability",
    "nats": "nats",
    "tokens": "tokens",
    "share": "share",
    "logits": "logits",
}


def script(comparison: Comparison, chosen: Selection) -> str:
    """Script that prints every head's figures, and the scan's results for the chosen heads."""
    view = find(comparison, chosen)
    assert view is not None  # without a scan nothing is offered
    options: dict[str, object] = {"heads": view.heads}
    lines = [f"a = {_reading(view.a)}"]
    if view.b is not None:
        lines.append(f"b = {_reading(view.b)}")
        options["b"] = Expression("b")
    if view.series:
        each = "".join(f"    {_reading(tree)},\n" for tree in view.series)
        lines.append(f"series = [\n{each}]")
        options |= {"series": Expression("series"), "metric": view.by}
    return printing(PURPOSE, {"read_tree"}, lines, "corpus_tables", "a", **options)


def _reading(tree: Tree) -> str:
    return f"read_tree({scans.opened_by(tree)!r})"


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Tables of all figures and of the chosen heads, and each figure of every head as an array."""
    view = find(comparison, chosen)
    assert view is not None  # without a scan nothing is offered
    arrays = {f"{side} {name}": each for side, tree in _sides(view).items() for name, each in _arrays(tree).items()}
    tables = corpus_tables(view.a, view.heads, view.b, view.series, view.by)
    shows = {"heads": [head_name(head) for head in view.heads], "figure": view.by} | {
        f"scan {side}": _about(tree) for side, tree in _sides(view).items()
    }
    return Data("corpus", shows, tables, arrays)


def _sides(view: ScanView) -> dict[str, Tree]:
    return {"A": view.a} if view.b is None else {"A": view.a, "B": view.b}


def _arrays(tree: Tree) -> dict[str, Measure]:
    known = [(name, FIGURES[name]) for name in tree.metrics if name in FIGURES and FIGURES[name].unit in UNITS]
    return {
        name: Measure(each.title, UNITS[each.unit], ("layer", "head"), torch.tensor(estimates(tree, name).values))
        for name, each in known
    }


def _about(tree: Tree) -> dict[str, Any]:
    corpus = (
        {name: value for name, value in vars(tree.provenance).items() if name != "skipped"} if tree.provenance else {}
    )
    return {"model": tree.model_name, "corpus": tree.dataset_name, **corpus}


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """All heads by their figures, the plots of the chosen head, and its sequences, pointed at as on the page."""
    view = find(comparison, chosen)
    assert view is not None  # without a scan nothing is offered
    head = head_name(view.head)
    texts = shown_texts(view.dashboard().sequences, view.a.n_intervals, comparison.a if view.own else None)
    rows = [
        [on_screen(_map(view))],
        *([Drawing(plot) for plot in row] for row in plots.taken(comparison, chosen)),
        [on_screen(SampledTexts(texts, title=f"Sequences of {head}"))],
        [table("Heads", finder.columns(view))],
    ]
    return Drawings(f"{head} of {named(view.a)} over {called(view.a.dataset_name)}", None, rows, tokens=False)


def _map(view: ScanView) -> CellMap:
    by = figure(view.by)
    return CellMap(
        view.ordering.values,
        *head_axes(view.ordering.values.shape),
        title=by.named if view.b is None else f"{by.named}, {DIFFERENCE}",
        scale="signed" if view.b is not None or by.signed else "linear",
    )
