"""The script of the attention page."""

from headlight.app.exports.script import report
from headlight.app.pages.attention.choices import Choices
from headlight.app.pages.attention.numbers import heads_of, how_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import head_name
from headlight.model.fields import TITLES


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the chosen heads' cells, every head's scores, and how far heads are apart."""
    heads, how = heads_of(shown, chosen), how_of(chosen)
    purpose = f"{TITLES[how.show][0].capitalize()} of {', '.join(map(head_name, heads)) or 'no head'}."
    options = {"show": how.show, "sink": how.sink, "unit": chosen.of(Choices).unit}
    return report(purpose, shown, chosen.align, "attention_tables", heads=heads, **options)
