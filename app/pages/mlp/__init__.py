"""The neurons of the MLPs: which are active at a token and matter for its prediction, and one of them in full."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import BELOW, View
from headlight.app.pages.mlp import exports, view
from headlight.app.pages.mlp.choices import Choices
from headlight.app.parts import needs

EXPORT = Export("mlp", exports.script, exports.data, exports.drawings, has_plots=True)

READING = (
    "Each of {layers} layers has {neurons} neurons, and a row of the table is one of them at the chosen token. Its "
    "direct effect is what it adds to the lead of the target, here {output} ({chance}), over the distractor. Its "
    "activation alone says little: what it promotes and reads stands beside it."
)
VIEW = View("mlp", "MLP", view.render, lambda: EXPORT, needs.neurons, group=BELOW, choices=Choices, reading=READING)
