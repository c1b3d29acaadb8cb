"""The attention page in numbers: the chosen heads' cells, every head's scores, and how far heads are apart."""

from headlight.app.exports.data import Data
from headlight.app.exports.sides import named
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts.first_heads import clearest
from headlight.app.selection.chosen import Selection
from headlight.model import fields
from headlight.model.comparison import Comparison
from headlight.model.edits import Head, head_name
from headlight.model.fields import How
from headlight.model.reports.attention import SCORES, UNITS, read_attention

MOST_ROWS = 300_000  # cells in a csv, beyond which they are in the npz alone


def data(shown: Comparison, chosen: Selection) -> Data:
    """Cells of the chosen heads as they are shown (measure, first token, words), scores of all heads."""
    heads = heads_of(shown, chosen)
    found = read_attention(shown, heads, how_of(chosen), chosen.of(Choices).unit)
    arrays = named("scores", found.scores) | named("cells", found.cells)
    arrays |= {"apart": found.apart} if found.apart else {}
    arrays |= {"divergence": found.divergence} if found.divergence else {}
    tables = found.tables(shown, with_cells=found.n_cells <= MOST_ROWS)
    return Data("attention", shows(chosen, heads), tables, arrays)


def heads_of(shown: Comparison, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those that the page begins with."""
    return clearest(shown.a) if chosen.heads is None else chosen.heads


def how_of(chosen: Selection) -> How:
    """What the cells hold; words and sentences have weights alone."""
    own = chosen.of(Choices)
    return How(own.show if own.unit == "token" else "weight", own.sink)


def shows(chosen: Selection, heads: tuple[Head, ...]) -> dict[str, object]:
    """What was chosen to be shown, in words."""
    how = how_of(chosen)
    return {
        "cells": fields.TITLES[how.show][0],
        "unit": UNITS[how.show],
        "heads": [head_name(head) for head in heads],
        "places are": f"{chosen.of(Choices).unit}s",
        "first token": fields.first_token_note(how) or "shown",
        "scores": list(SCORES.values()),
    }
