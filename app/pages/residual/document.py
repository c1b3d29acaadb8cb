"""The residual page as a file: maps of the stream's norm, and component norms at the token that is chosen there."""

from headlight.app.components import MapCell
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.signed_bars import bars_by_place
from headlight.app.pages.residual.maps import GROUP, cosine_map, norm_map
from headlight.app.parts.pair import place_of
from headlight.app.parts.sides import by_side
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
    norms, place, names = by_side(stream_norms(shown)), place_of(shown, chosen), component_names(shown)
    called = {side: "" if shown.b is None else f"{side}: " for side in norms}
    added = {
        "component norms (L2)": by_side(component_norms(shown)),
        "share of the final stream": by_side(component_shares(shown)),
    }
    with recorded() as mounted:
        for side in norms:
            norm_map(shown, norms, side, f"norms {side}", called[side], MapCell(0, place))
        for title, sides in added.items():
            for side, values in sides.items():
                bars_by_place(names, values, shown.labels, title=f"{called[side]}{title}", place=place, group=GROUP)
        for side, cosines in by_side(layer_cosines(shown)).items():
            cosine_map(shown, cosines, side, called[side])
    return document("Residual stream", shown, mounted, "plain")
