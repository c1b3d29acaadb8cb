"""The script of the lens page."""

from headlight.app.exports.script import report
from headlight.app.pages.lens.numbers import cell_of, followed_token
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison

PURPOSE = "What the model would say after each layer: the logit lens."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the lens, the ten best of the cell looked at, and the followed token's way to it."""
    token, (layer, place) = followed_token(shown, chosen), cell_of(shown, chosen)
    return report(PURPOSE, shown, chosen.align, "lens_tables", token=token, layer=layer, place=place)
