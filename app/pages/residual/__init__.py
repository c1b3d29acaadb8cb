"""Residual stream: its norm and direction, and the write of each layer."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import View
from headlight.app.pages.residual import exports, view

EXPORT = Export("residual", exports.script, exports.data, exports.drawings, has_plots=True)

READING = (
    "Every token has a vector of {d_model} numbers, to which all {layers} layers add. At {last} its length grows from "
    "{first_norm} after the embedding to {last_norm} after the last layer. Bars show which layers added most, and "
    "whether attention or the MLP did."
)
VIEW = View("residual", "Residual stream", view.render, lambda: EXPORT, reading=READING)
