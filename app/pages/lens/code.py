"""The script of the lens page."""

from headlight.app.exports.script import report
from headlight.app.pages.lens.choices import Choices
from headlight.app.pages.lens.numbers import cell_of, followed_token, scope_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.lenses.lens import TITLES

PURPOSE = "What the model would say after each layer: the {}."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the lens, the ten best of the cell looked at, and the followed token's way to it."""
    token, (layer, place) = followed_token(shown, chosen), cell_of(shown, chosen)
    own, scope = chosen.of(Choices), scope_of(shown, chosen)
    options: dict[str, object] = {} if own.lens == "logit" else {"lens": own.lens}
    if own.lens != "logit" and own.lens_from:
        options["lens_from"] = own.lens_from
    if scope is not None:
        options["scope"] = scope
    purpose = PURPOSE.format(TITLES[own.lens])
    return report(purpose, shown, chosen.align, "lens_tables", token=token, layer=layer, place=place, **options)
