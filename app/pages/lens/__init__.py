"""What the model would predict after each layer, by the logit lens, a tuned lens or a Jacobian lens."""

from contextlib import suppress
from dataclasses import replace

from headlight.app import selection
from headlight.app.components import LensPin
from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.lens import code, divergence, document, lens_cell, numbers, picture, scope, view
from headlight.app.pages.lens.choices import Choices
from headlight.app.parts import needs
from headlight.app.parts.charts import Rows
from headlight.app.runs import shown as shown_runs
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.errors import HeadlightError


def plots(shown: Comparison, chosen: Selection) -> Rows:
    """The page's plots: of the chosen cell and token, of every lens, and of what the patchscope says."""
    pin, by = LensPin(*numbers.cell_of(shown, chosen)), numbers.lens_by_side(shown, chosen)
    cell = lens_cell.rows(shown, pin, numbers.followed_token(shown, chosen), by)
    return [*cell, *divergence.rows(shown, by, chosen), *scope.rows(shown, pin, numbers.scope_of(shown, chosen))]


EXPORT = Export("lens", code.script, numbers.data, picture.draw, document.page, plots)


def export() -> Export | None:
    """The page's files, whose names say which lens it is; none where that lens is refused."""
    now = selection.current()
    if (kind := now.of(Choices).lens) == "logit":
        return EXPORT
    with suppress(HeadlightError):
        numbers.lens_by_side(shown_runs.of(now), now)
        return replace(EXPORT, name=f"{kind}_lens")
    return None


VIEW = View("lens", "Logit lens", view.render, export, needs.language_model, choices=Choices)
