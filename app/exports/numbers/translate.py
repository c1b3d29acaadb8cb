"""The page *Translate and reverse* in numbers: sources, targets and their log-probabilities, heads' cells, beams."""

from collections.abc import Mapping

import torch

from app.axis import Axis
from app.csv_files import Cell
from app.exports.numbers.attention import SIDES
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import DIFFERENCE, columns, finite
from app.selection.chosen import Head, Selection
from app.translation import labels
from app.translations import Translations
from app.views.translated.heads import chosen_of
from model.analysis import Measure

SOURCE = ["run", "place", "position", "token read"]
TARGET = ["run", "place", "position", "token read", "token written", "its log-probability (nats)"]
HEADS = ["layer", "head", "run", "row", "column", "attention weight"]
BEAMS = ["run", "node", "step", "token", "follows", "log-probability (nats)", "score", "fate"]
APART = ["layer", "head", "A and B apart (nats)"]

Rows = list[tuple[Cell, ...]]


def data(found: Translations, chosen: Selection) -> Data:
    """All patterns as arrays; as tables the tokens, the chosen heads' cells and every expansion of the beams."""
    heads = chosen_of(found, chosen)
    sides = list(SIDES)[: 1 if found.b is None else None]
    cells = {side: found.cells(SIDES[side], chosen.attends, chosen.rows) for side in sides}
    tables: dict[str, Table] = {
        "source": columns(SOURCE, _source(found)),
        "target": columns(TARGET, _target(found)),
        "heads": columns(HEADS, _cells(cells, heads)),
    }
    if any(each.search for each in found.sides.values()):
        tables["beams"] = columns(BEAMS, _beams(found))
    arrays = {
        f"{side} {name} attention": Measure(
            "attention weight", "probability", ("layer", "head", "query", "key"), each.pattern
        )
        for side, translation in found.sides.items()
        for name, each in translation.attention.items()
    }
    if found.b is not None:
        for side, values in cells.items():
            axes = ("layer", "head", "query place", "key place")
            name = f"{side.replace(' ', '')} {chosen.attends} attention side by side"
            arrays[name] = Measure("attention weight", "probability", axes, values)
        divergence = found.divergence(chosen.attends, chosen.rows)
        tables["apart"] = columns(APART, [(*head, value) for head, value in finite(divergence.values)])
        arrays["divergence"] = divergence
    shows: dict[str, object] = {
        "attention of": chosen.attends,
        "heads": [f"L{layer}H{head}" for layer, head in heads],
        "rows are called by the token": chosen.rows,
    }
    return Data("translate", shows, tables, arrays)


def _source(found: Translations) -> Rows:
    axis = found.axes("encoder", "read")[0]
    return [
        (side, place, position, each.source_labels[position])
        for (side, each), positions in zip(found.sides.items(), axis.positions, strict=True)
        for place, position in enumerate(positions)
        if position is not None
    ]


def _target(found: Translations) -> Rows:
    """Each written token at its place on the axis; and how much likelier it is in B, where both wrote the same."""
    axis = found.axes("cross", "written")[0]
    rows: Rows = []
    for (side, each), positions in zip(found.sides.items(), axis.positions, strict=True):
        tokens = list(zip(each.read_labels, each.written_labels, each.log_probs.tolist(), strict=True))
        rows += [(side, place, at, *tokens[at]) for place, at in enumerate(positions) if at is not None]
    return rows + (_change(found, axis) if found.b is not None else [])


def _change(found: Translations, axis: Axis) -> Rows:
    a, b = (each.log_probs.tolist() for each in found.sides.values())
    pairs = enumerate(zip(*axis.positions, strict=True))
    return [
        (DIFFERENCE, place, None, None, axis.labels[place], b[of_b] - a[of_a])
        for place, (of_a, of_b) in pairs
        if of_a is not None and of_b is not None
    ]


def _cells(cells: Mapping[str, torch.Tensor], heads: tuple[Head, ...]) -> Rows:
    return [
        (*head, side, row, column, value)
        for head in heads
        for side, values in cells.items()
        for (row, column), value in finite(values[head])
    ]


def _beams(found: Translations) -> Rows:
    rows: Rows = []
    for side, each in found.sides.items():
        tree = each.search.tree if each.search else ()
        named = labels(each.model, "target", [node.token for node in tree])
        rows += [
            (side, at, node.n_tokens, label, node.parent, node.log_prob, node.score, node.fate)
            for at, (node, label) in enumerate(zip(tree, named, strict=True))
        ]
    return rows
