"""Tables of a translation: tokens, attention cells, and the tree of beams."""

from collections.abc import Iterator, Mapping, Sequence

import torch

from headlight.model.attention.axis import Axis
from headlight.model.decoding.translation import Attends, labels
from headlight.model.decoding.translations import Rows, Translations
from headlight.model.former_names import former_keywords
from headlight.model.measure.difference import DIFFERENCE, sides_of
from headlight.model.measure.likelihood import probabilities
from headlight.model.runs.edits import Head
from headlight.model.runs.tables import Row, Tables, columns, finite, number

SOURCE = ["run", "place", "position", "token read"]
TARGET = ["run", "place", "position", "token read", "token written", "its log-probability (nats)"]
HEADS = ["layer", "head", "run", "row", "column", "attention weight"]
BEAMS = ["run", "node", "step", "token", "follows", "log-probability (nats)", "score", "fate"]
SPANS = ["run", "position", "token", "logit of start", "logit of end"]
LABELS = ["run", "label", "logit", "probability"]
APART = ["layer", "head", "A and B apart (nats)"]


@former_keywords(found="translations")
def translate_tables(
    translations: Translations, attends: Attends = "cross", heads: Sequence[Head] = (), rows: Rows = "written"
) -> Tables:
    """Tabulate a translation: tokens of source and target, attention cells, and the beam search.

    Args:
        translations: one translation, or two to compare.
        attends: which attention: the encoder's, the decoder's or cross-attention.
        heads: (layer, head) pairs whose cells are listed.
        rows: whether a row of cross-attention is the target token that it writes or the one that it reads.
    """
    cells = {
        name: translations.cells(side, attends, rows) for name, side in sides_of(translations.b is not None).items()
    }
    tables: Tables = {
        "source": columns(SOURCE, _source(translations)),
        "target": columns(TARGET, _target(translations)),
        "heads": columns(HEADS, _cells(cells, heads)),
    }
    if any(each.search for each in translations.sides.values()):
        tables["beams"] = columns(BEAMS, _beams(translations))
    if rows_of_labels := list(_labels(translations)):
        tables["labels"] = columns(LABELS, rows_of_labels)
    if rows_of_spans := list(_spans(translations)):
        tables["answer"] = columns(SPANS, rows_of_spans)
    if translations.b is not None:
        divergence = finite(translations.divergence(attends, rows).values)
        tables["apart"] = columns(APART, [(*head, value) for head, value in divergence])
    return tables


def _labels(translations: Translations) -> Iterator[Row]:
    """A classifier's labels in each run."""
    for side, each in translations.sides.items():
        if each.label_logits is not None:
            shares = probabilities(each.label_logits, each.model.cfg.multi_label).tolist()
            rows = zip(each.model.cfg.labels, each.label_logits.tolist(), shares, strict=True)
            yield from ((side, *row) for row in rows)


def _spans(translations: Translations) -> Iterator[Row]:
    """Where an answer starts and ends in each run, by its logits at each token."""
    for side, each in translations.sides.items():
        if each.span_logits is not None:
            rows = zip(each.source_labels, each.span_logits.tolist(), strict=True)
            yield from ((side, position, token, *logits) for position, (token, logits) in enumerate(rows))


def _source(translations: Translations) -> list[Row]:
    axis = translations.axes("encoder", "read")[0]
    return [
        (side, place, position, each.source_labels[position])
        for (side, each), positions in zip(translations.sides.items(), axis.positions, strict=True)
        for place, position in enumerate(positions)
        if position is not None
    ]


def _target(translations: Translations) -> list[Row]:
    """Each written token at its place on the axis; and how much likelier it is in B, where both wrote the same."""
    axis = translations.axes("cross", "written")[0]
    rows: list[Row] = []
    for (side, each), positions in zip(translations.sides.items(), axis.positions, strict=True):
        tokens = list(zip(each.read_labels, each.written_labels, map(number, each.log_probs.tolist()), strict=True))
        rows += [(side, place, at, *tokens[at]) for place, at in enumerate(positions) if at is not None]
    return rows + (_change(translations, axis) if translations.b is not None else [])


def _change(translations: Translations, axis: Axis) -> list[Row]:
    a, b = (each.log_probs.tolist() for each in translations.sides.values())
    pairs = enumerate(zip(*axis.positions, strict=True))
    return [
        (DIFFERENCE, place, None, None, axis.labels[place], number(b[of_b] - a[of_a]))
        for place, (of_a, of_b) in pairs
        if of_a is not None and of_b is not None
    ]


def _cells(cells: Mapping[str, torch.Tensor], heads: Sequence[Head]) -> list[Row]:
    return [
        (*head, side, row, column, value)
        for head in heads
        for side, values in cells.items()
        for (row, column), value in finite(values[head])
    ]


def _beams(translations: Translations) -> list[Row]:
    rows: list[Row] = []
    for side, each in translations.sides.items():
        tree = each.search.tree if each.search else ()
        named = labels(each.model, "target", [node.token for node in tree])
        rows += [
            (side, at, node.n_tokens, label, node.parent, node.log_prob, node.score, node.fate)
            for at, (node, label) in enumerate(zip(tree, named, strict=True))
        ]
    return rows
