"""The page *Corpus* in numbers: every head's figures, and what the scan has of the chosen heads."""

from typing import Any

import torch

from headlight.app.exports.data import Data
from headlight.app.pages.corpus.found import Found, find
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure, Unit
from headlight.model.comparison import Comparison
from headlight.model.corpus.titles import FIGURES, estimates
from headlight.model.corpus.tree import Tree
from headlight.model.edits import head_name
from headlight.model.reports.corpus import corpus_tables

UNITS: dict[str, Unit] = {  # of those figures that arrays are given of; the tables have all
    "attention weight": "probability",
    "nats": "nats",
    "tokens": "tokens",
    "share": "share",
    "logits": "logits",
}


def data(shown: Comparison, chosen: Selection) -> Data:
    """Tables of all figures and of the chosen heads, and each figure of every head as an array."""
    found = find(shown, chosen)
    assert found is not None  # without a scan nothing is offered
    arrays = {f"{side} {name}": each for side, tree in _sides(found).items() for name, each in _arrays(tree).items()}
    tables = corpus_tables(found.a, found.heads, found.b, found.series if len(found.series) > 1 else (), found.by)
    shows = {"heads": [head_name(head) for head in found.heads], "figure": found.by} | {
        f"scan {side}": _about(tree) for side, tree in _sides(found).items()
    }
    return Data("corpus", shows, tables, arrays)


def _sides(found: Found) -> dict[str, Tree]:
    return {"A": found.a} if found.b is None else {"A": found.a, "B": found.b}


def _arrays(tree: Tree) -> dict[str, Measure]:
    known = [(name, FIGURES[name]) for name in tree.metrics if name in FIGURES and FIGURES[name].unit in UNITS]
    return {
        name: Measure(each.title, UNITS[each.unit], ("layer", "head"), torch.tensor(estimates(tree, name).values))
        for name, each in known
    }


def _about(tree: Tree) -> dict[str, Any]:
    told = (
        {} if tree.told is None else {name: getattr(tree.told, name) for name in vars(tree.told) if name != "skipped"}
    )
    return {"model": tree.model_name, "corpus": tree.dataset_name, **told}
