"""The page *Translate and reverse* in numbers: source, target and its log-probabilities, heads' cells, beams."""

import torch

from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import columns, finite
from app.selection.chosen import Head, Selection
from app.translation import Translation, labels
from app.views.translate import clearest
from model.analysis import Measure


def data(found: Translation, chosen: Selection) -> Data:
    """All patterns as arrays; as tables the tokens, the chosen heads' cells and every expansion of the beams."""
    attended = found.attention[chosen.attends]
    heads = heads_of(found, chosen)
    cells = attended.pattern[tuple(zip(*heads, strict=True))] if heads else attended.pattern[:0, 0]
    tables = {
        "source": columns(["position", "token read"], list(enumerate(found.source_labels))),
        "target": _target(found),
        "heads": _cells(cells.masked_fill(attended.masked, torch.nan), heads),
    }
    if found.search is not None:
        tables["beams"] = _beams(found)
    arrays = {
        f"{name} attention": Measure("attention weight", "probability", ("layer", "head", "query", "key"), each.pattern)
        for name, each in found.attention.items()
    }
    shows = {"attention of": chosen.attends, "heads": [f"L{layer}H{head}" for layer, head in heads]}
    return Data("translate", shows, tables, arrays)


def heads_of(found: Translation, chosen: Selection) -> tuple[Head, ...]:
    """The heads shown large: the chosen ones, or those worth a first look."""
    return clearest(found.attention[chosen.attends]) if chosen.pair_heads is None else chosen.pair_heads


def _target(found: Translation) -> Table:
    rows = zip(found.read_labels, found.written_labels, found.log_probs.tolist(), strict=True)
    heading = ["position", "token read", "token written", "its log-probability (nats)"]
    return columns(heading, [(position, *row) for position, row in enumerate(rows)])


def _cells(cells: torch.Tensor, heads: tuple[Head, ...]) -> Table:
    rows = [(*heads[index], row, column, value) for (index, row, column), value in finite(cells)]
    return columns(["layer", "head", "row", "column", "attention weight"], rows)


def _beams(found: Translation) -> Table:
    assert found.search is not None  # asked before
    tree = found.search.tree
    named = labels(found.model, "target", [each.token for each in tree])
    rows: list[tuple[Cell, ...]] = [
        (place, each.n_tokens, label, each.parent, each.log_prob, each.score, each.fate)
        for place, (each, label) in enumerate(zip(tree, named, strict=True))
    ]
    return columns(["place", "step", "token", "follows", "log-probability (nats)", "score", "fate"], rows)
