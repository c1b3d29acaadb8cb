"""The script of the page *Head internals*."""

from headlight.app.exports.script import report
from headlight.app.pages.inside.chosen import key_of, query_of
from headlight.app.parts.first_heads import head_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints what the query makes of every key, and the vectors on the way."""
    layer, head = head_of(shown, chosen)
    places = {"query": query_of(shown, chosen), "key": key_of(chosen)}
    purpose = f"Every step of head {head} of layer {layer} at one query."
    return report(purpose, shown, chosen.align, "inside_tables", head=(layer, head), **places)
