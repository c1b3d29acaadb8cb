"""Measures over a set of prompts, with intervals, and the rows behind each cell."""

from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.experiments import exports, view
from headlight.app.pages.experiments.choices import Choices
from headlight.app.parts import needs

READING = (
    "A measure of this model over a whole set of prompts, not over one: of its {heads} heads, {layers} layers, or "
    "positions. Each colour is a mean over the rows; a small square is a cell whose interval of 95% includes nought. "
    "Click a cell to see every row, and those that deviate most, which a mean can hide."
)
VIEW = View(
    "experiments",
    "Experiments",
    view.render,
    exports.export,
    needs.last_token,
    group=EXPLAIN,
    choices=Choices,
    reading=READING,
)
