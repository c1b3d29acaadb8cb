"""What is taken along of the residual page: its script, its numbers, and a file of its maps and bars."""

from headlight.app.components import MapCell
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.html.document import document
from headlight.app.exports.html.signed_bars import bars_by_place
from headlight.app.exports.script import report
from headlight.app.pages.residual.maps import GROUP, cosine_map, norm_map
from headlight.app.parts import needs
from headlight.app.parts.pair import place_of
from headlight.app.parts.sides import by_side
from headlight.app.selection.chosen import Selection
from headlight.model.attention.residual_tables import (
    component_names,
    component_norms,
    component_shares,
    layer_cosines,
    residual_tables,
    stream_norms,
)
from headlight.model.runs.comparison import Comparison

PURPOSE = "The residual stream: how long it is, where it turns, and who writes it."


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints the stream's norms and cosines, and the components at the place looked at."""
    return report(PURPOSE, comparison, chosen.align, "residual_tables", place=place_of(comparison, chosen))


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Norms at every layer and place, cosines between layers, and the components at the place looked at."""
    place = place_of(comparison, chosen)
    arrays = of_sides("norms", stream_norms(comparison)) | of_sides("cosines", layer_cosines(comparison))
    arrays |= of_sides("component norms", component_norms(comparison)) | of_sides(
        "component shares", component_shares(comparison)
    )
    shows = {
        "components are at place": place,
        "components": component_names(comparison),
        "layers": comparison.layer_labels,
    }
    return Data("residual", shows, residual_tables(comparison, place), arrays)


def page(comparison: Comparison, chosen: Selection) -> bytes:
    """A file in which every token can be looked at."""
    norms, place, names = by_side(stream_norms(comparison)), place_of(comparison, chosen), component_names(comparison)
    called = {side: "" if comparison.b is None else f"{side}: " for side in norms}
    added = {"component norms (L2)": by_side(component_norms(comparison))}
    if not needs.split(comparison):
        added["share of the final stream"] = by_side(component_shares(comparison))
    with recorded() as mounted:
        for side in norms:
            norm_map(comparison, norms, side, f"norms {side}", called[side], MapCell(0, place))
        for title, sides in added.items():
            for side, values in sides.items():
                bars_by_place(
                    names, values, comparison.labels, title=f"{called[side]}{title}", place=place, group=GROUP
                )
        for side, cosines in by_side(layer_cosines(comparison)).items():
            cosine_map(comparison, cosines, side, called[side])
    return document("Residual stream", comparison, mounted, "plain")
