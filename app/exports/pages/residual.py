"""The residual page as a file: the map of lengths, and what each part adds at the place that is clicked."""

from app.components.shared.mount import recorded
from app.exports.numbers.residual import component_names, components_of, cosines_of, norms_of, place_of
from app.exports.pages.document import document
from app.exports.pages.residual_map import Stream, residual_map
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.sides import layer_labels


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every token can be looked at."""
    norms, (lengths, shares), cosines = norms_of(shown), components_of(shown), cosines_of(shown)
    streams = {
        "" if shown.b is None else side.replace("-", "−"): Stream(
            *(measures[side].values.numpy() for measures in (norms, lengths, shares, cosines))
        )
        for side in norms
    }
    with recorded() as mounted:
        residual_map(
            streams,
            labels=shown.labels,
            layers=layer_labels(shown),
            components=component_names(shown),
            place=place_of(shown, chosen),
        )
    return document("Residual stream", shown, mounted, "plain")
