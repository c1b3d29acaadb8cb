"""Directions between two classes of prompts: how well they predict, where a prompt lies along them, what they cause."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import MODEL, View
from headlight.app.pages.directions import exports, view
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import no_directions

EXPORT = Export("directions", exports.script, exports.data, exports.drawings, has_plots=True)

READING = (
    "A direction is a vector of {d_model} numbers along which two classes of prompts part. The curve shows how well "
    "it judges prompts that it was not found in, after each of {layers} layers, beside chance. The {tokens} tokens of "
    "your prompt are coloured by how far each lies to one side."
)
VIEW = View(
    "directions",
    "Directions",
    view.render,
    lambda: EXPORT if view.is_open() else None,
    needs=no_directions,
    group=MODEL,
    choices=Choices,
    reading=READING,
)
