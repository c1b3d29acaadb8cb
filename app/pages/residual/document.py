"""The residual page as a file: the map of lengths, and what each part adds at the place that is clicked."""

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.residual_map import Stream, residual_map
from headlight.app.pages.residual.numbers import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.reports.residual import (
    component_names,
    component_norms,
    component_shares,
    layer_cosines,
    stream_norms,
)


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every token can be looked at."""
    found = [of(shown) for of in (stream_norms, component_norms, component_shares, layer_cosines)]
    streams = {
        "" if shown.b is None else side.replace("-", "−"): Stream(
            *(measures[side].values.numpy() for measures in found)
        )
        for side in found[0]
    }
    with recorded() as mounted:
        residual_map(
            streams,
            labels=shown.labels,
            layers=shown.layer_labels,
            components=component_names(shown),
            place=place_of(shown, chosen),
        )
    return document("Residual stream", shown, mounted, "plain")
