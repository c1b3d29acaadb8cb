"""The logit lens: what the model would predict after each layer."""

from headlight.app.components import LensPin
from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.lens import code, document, lens_cell, numbers, picture, view
from headlight.app.pages.lens.choices import Choices
from headlight.app.parts import needs
from headlight.app.parts.charts import Rows
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def plots(shown: Comparison, chosen: Selection) -> Rows:
    """The page's plots, of the cell and the token that are chosen."""
    pin = LensPin(*numbers.cell_of(shown, chosen))
    return lens_cell.rows(shown, pin, numbers.followed_token(shown, chosen))


EXPORT = Export("lens", code.script, numbers.data, picture.draw, document.page, plots)

VIEW = View("lens", "Logit lens", view.render, lambda: EXPORT, needs.language_model, choices=Choices)
