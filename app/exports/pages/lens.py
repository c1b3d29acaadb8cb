"""The lens page as a file: every layer's predictions, with the ten best at the pointer."""

from app.components import LensPin
from app.components.shared.mount import recorded
from app.exports.numbers.lens import cell_of, followed_token
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.shown import Shown
from app.views import lens


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file with the lens in the colours chosen."""
    values = lens.coloured(shown, chosen.measure, followed_token(shown, chosen))
    with recorded() as mounted:
        lens.grid(shown, values, chosen.measure, LensPin(*cell_of(shown, chosen)), epoch=0, key="lens")
    return document("Logit lens", shown, mounted, "plain")
