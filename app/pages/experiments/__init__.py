"""Measures over a set of prompts, with intervals, and the rows behind each cell."""

from headlight.app.frame.view import EXPLAIN, View
from headlight.app.pages.experiments import exports, view
from headlight.app.pages.experiments.choices import Choices
from headlight.app.parts import needs

VIEW = View("experiments", "Experiments", view.render, exports.export, needs.last_token, group=EXPLAIN, choices=Choices)
