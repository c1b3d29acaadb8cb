"""Exports of the page *Attention*: its script, its numbers, and a file of all heads."""

from dataclasses import replace

import numpy as np

from headlight.app.components import TokenAxis
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.drawings import Drawing, Drawings, TextLines, on_paper, on_screen
from headlight.app.exports.openable_heads import openable_heads, pattern_maps
from headlight.app.exports.script import report
from headlight.app.figures.text import token_names
from headlight.app.pages.attention import receivers
from headlight.app.pages.attention.choices import Choices
from headlight.app.pages.attention.finding import finding, looked_from, named_sinks, predicted, prediction
from headlight.app.parts.first_heads import heads_of
from headlight.app.parts.labels import said_of_heads
from headlight.app.parts.panels import panel
from headlight.app.parts.scores import score
from headlight.app.runs import thumbnails
from headlight.app.selection.chosen import Selection
from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, axis_of, turn_starts
from headlight.model.attention.hidden_sentence import cannot_hide
from headlight.model.attention.receiver_tables import receiver_arrays, receivers_of
from headlight.model.attention.tables import SCORES, UNITS, cells_of, read_attention
from headlight.model.measure.difference import Side
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.head import attend

MAX_ROWS = 300_000  # cells in a csv, beyond which they are in the npz alone
MAX_WORDS = 150  # of a text that is drawn with lines
MAX_CODES = 720_000  # cells of patterns, with which the file stays at about 1.5 MB even where no two are alike


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints the chosen heads' cells, every head's scores, and how far heads are apart."""
    heads, own = heads_of(comparison, chosen), chosen.choices_of(Choices)
    how = own.how
    purpose = f"{fields.name_of(how.show, how.fold).capitalize()} of {', '.join(map(head_name, heads)) or 'no head'}."
    options: dict[str, object] = {"show": how.show, "sink": how.sink, "unit": own.unit}
    if (hidden := _hidden(comparison, chosen)) is not None:
        options["hidden"] = hidden
    if how.fold != "average":
        options["fold"] = how.fold
    return report(purpose, comparison, chosen.align, "attention_tables", heads=heads, **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Cells of the chosen heads as on the page (measure, first token, words), and the scores of all heads."""
    heads, own = heads_of(comparison, chosen), chosen.choices_of(Choices)
    reading = read_attention(comparison, heads, own.how, own.unit, _hidden(comparison, chosen))
    arrays = of_sides("scores", reading.scores) | of_sides("cells", reading.cells)
    arrays |= {"apart": reading.apart} if reading.apart else {}
    arrays |= {"divergence": reading.divergence} if reading.divergence else {}
    arrays |= of_sides("losses", reading.losses)
    for name, measures in receiver_arrays(reading.receivers, reading.axis).items():
        arrays |= of_sides(name, measures)
    tables = reading.tables(comparison, with_cells=reading.n_cells <= MAX_ROWS)
    return Data("attention", _shows(comparison, own, heads), tables, arrays)


def _hidden(comparison: Comparison, chosen: Selection) -> int | None:
    """The place of the hidden sentence, if one is and can be."""
    if any(map(cannot_hide, comparison.runs)):
        return None
    own = chosen.choices_of(Choices)
    return own.hidden_on(axis_of(comparison, own.unit, chosen.align))


def _shows(comparison: Comparison, own: Choices, heads: tuple[Head, ...]) -> dict[str, object]:
    """The page's options, in words."""
    how = own.how
    return {
        "cells": fields.name_of(how.show, how.fold),
        "unit": UNITS[how.show],
        "heads": [head_name(head) for head in heads],
        "places are": f"{own.unit}s",
        "first token": fields.sink_note(how, own.unit) or "shown",
        "other sinks": named_sinks(comparison),
        "scores": list(SCORES.values()),
    }


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """All heads, or where they are too many some, to be opened from the grid; in a picture the chosen ones."""
    own = chosen.choices_of(Choices)
    axis, how, selected = axis_of(comparison, own.unit, chosen.align), own.how, heads_of(comparison, chosen)
    side: Side = (chosen.side or "difference") if comparison.b is not None else "a"
    pooled = thumbnails.thumbnails(comparison, side, how, axis)
    tokens, title = TokenAxis(axis.labels, axis.presence, unit=own.unit), fields.title(how.show, how.fold)
    panels = [panel(comparison, head, axis, own.unit, how.fold) for head in _held(comparison, selected, axis)]
    turns = turn_starts(comparison, axis)
    openable = openable_heads(
        pooled, panels, tokens, None, chosen, selected=selected, title=title, side=side, how=how, turns=turns
    )
    heads = selected or heads_of(comparison, replace(chosen, heads=None))
    cells = {side: measure.values.numpy() for side, measure in cells_of(comparison, heads, how, axis).items()}
    patterns = pattern_maps(
        heads,
        cells,
        axis.labels,
        axis.labels,
        title=title,
        unit_limit=how.show == "weight",
        signed=how.show in fields.SIGNED,
        root=chosen.scale == "sqrt" and how.show != "score",
        own_scale=chosen.own_scale,
    )
    said = finding(comparison, heads[0], axis, chosen) if heads else ""
    rows = [[openable], *_text(comparison, heads, axis, chosen), *patterns, *_receivers(comparison, heads, axis, own)]
    return Drawings("Attention", comparison, rows, finding=said, roles=said_of_heads(comparison, chosen, heads))


def _receivers(comparison: Comparison, heads: tuple[Head, ...], axis: Axis, own: Choices) -> list[list[Drawing]]:
    """Vertical scores and heads by kurtosis, where the page has sentences and shows them."""
    made = receivers_of(comparison, own.unit) if own.sentences and own.unit in ("sentence", "turn") else {}
    if not made:
        return []
    head = heads[0] if heads and own.vertical == "head" else None
    values = receivers.vertical_values(comparison, made, head, axis, own.unit)
    tables = receivers.kurtosis_tables(comparison, made, axis, own.unit)
    return [[Drawing(values)], *([on_screen(ranked)] for ranked in tables.values())]


def _text(comparison: Comparison, heads: tuple[Head, ...], axis: Axis, chosen: Selection) -> list[list[Drawing]]:
    """The prompt with the lines of the first head's attention, where the page draws lines too."""
    query, own = looked_from(axis, chosen), chosen.choices_of(Choices)
    if query is None or not heads or comparison.b is not None or own.how.show != "weight":
        return []
    words = [name.replace("␣", " ") for name in token_names(axis.labels)]
    if not 1 < len(words) <= MAX_WORDS:
        return []
    row = attend(comparison.a, *heads[0], range(query, query + 1)).pattern[0].numpy()
    token = predicted(comparison.a)
    behind = "" if token is None else " ".join(prediction(comparison.a, token)).replace("␣", "")
    return [[on_paper(TextLines(words, row, query, behind))]]


def _held(comparison: Comparison, selected: tuple[Head, ...], axis: Axis) -> list[Head]:
    """The heads whose patterns go along: the chosen ones, and the others, with a B those first that changed most."""
    every = [(layer, head) for layer in range(comparison.n_layers) for head in range(comparison.n_heads)]
    room = MAX_CODES // (len(comparison.runs) * len(axis.labels) ** 2)
    if room < len(every) and comparison.b is not None:
        apart = np.nan_to_num(score(comparison, "divergence", axis))
        every.sort(key=lambda head: -apart[head])
    others = [head for head in every if head not in selected]
    return [*selected, *others[: max(0, room - len(selected))]] or every[:1]
