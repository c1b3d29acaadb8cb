"""The page *Inside one head* as a file: the steps of A and, with a B, those of B and of B - A under them."""

from app.components.shared.mount import recorded
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.inside import draw
from app.views.parts import name
from app.views.sides import DIFFERENCE
from app.views.steps.chosen import head_of, sides_of


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every matrix tells its numbers; those spelled out are of the key and component chosen."""
    sides = sides_of(shown, chosen)
    with recorded() as mounted:
        for side in [*sides, *([DIFFERENCE] if len(sides) == 2 else [])]:
            title = "" if shown.b is None else side
            draw(shown, sides, side, chosen.convention, epoch=0, key=f"steps {side}", in_file=title)
    return document(f"Inside {name(head_of(shown, chosen))}", shown, mounted, "plain")
