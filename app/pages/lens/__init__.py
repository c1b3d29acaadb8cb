"""Predictions after each layer, by the logit lens, a tuned lens or a Jacobian lens."""

from contextlib import suppress
from dataclasses import replace

from headlight.app import selection
from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.lens import exports, view
from headlight.app.pages.lens.choices import Choices, lens_by_side
from headlight.app.parts import needs
from headlight.app.runs import comparisons
from headlight.model.base.errors import HeadlightError

EXPORT = Export("lens", exports.script, exports.data, exports.drawings, has_plots=True)


def export() -> Export | None:
    """The page's files, whose names say which lens it is; none where that lens is refused."""
    now = selection.current()
    if (kind := now.choices_of(Choices).lens) == "logit":
        return EXPORT
    with suppress(HeadlightError):
        lens_by_side(comparisons.for_selection(now), now)
        return replace(EXPORT, name=f"{kind}_lens")
    return None


READING = (
    "What the model holds after each of {layers} layers is read as a guess at the next token, in one column for each "
    "of {tokens} tokens. The colour is the probability of the final answer, which after {last} is {output} ({chance}), "
    "and a word stands where the best guess changes. A guess that shows late was not always made late: earlier layers "
    "may hold it in a form that this lens does not read."
)
VIEW = View("lens", "Logit lens", view.render, export, needs.language_model, choices=Choices, reading=READING)
