"""The lens page as a file: every layer's predictions, with the ten best at the pointer."""

from headlight.app.components import LensPin
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.pages.lens import view as lens
from headlight.app.pages.lens.choices import Choices
from headlight.app.pages.lens.numbers import cell_of, followed_token, lens_by_side, title_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file with the lens in the colours chosen."""
    own = chosen.of(Choices)
    lenses = lens.lenses_of(shown, lens_by_side(shown, chosen))
    values = lens.coloured(shown, own.measure, followed_token(shown, chosen), lenses)
    with recorded() as mounted:
        lens.grid(shown, values, own.measure, lenses, LensPin(*cell_of(shown, chosen)), epoch=0, key="lens")
    return document(title_of(shown, chosen), shown, mounted, "plain")
