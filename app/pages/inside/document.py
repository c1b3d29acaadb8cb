"""The page *Head internals* as a file: the steps of A and, with a B, those of B and of B - A under them."""

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.pages.inside.choices import Choices
from headlight.app.pages.inside.chosen import sides_of
from headlight.app.pages.inside.view import draw
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import head_name


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every matrix tells its numbers; those spelled out are of the key and component chosen."""
    sides = sides_of(shown, chosen)
    with recorded() as mounted:
        for side in [*sides, *([DIFFERENCE] if len(sides) == 2 else [])]:
            title = "" if shown.b is None else side
            draw(shown, sides, side, chosen.of(Choices).convention, epoch=0, key=f"steps {side}", in_file=title)
    return document(f"Inside {head_name(head_of(shown, chosen))}", shown, mounted, "plain")
