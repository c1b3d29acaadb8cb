"""The residual page in numbers: lengths, directions, and what each part of the model writes at one place."""

from headlight.app.exports.data import Data
from headlight.app.exports.sides import named
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.reports.residual import (
    component_names,
    component_norms,
    component_shares,
    layer_cosines,
    residual_tables,
    stream_norms,
)


def data(shown: Comparison, chosen: Selection) -> Data:
    """Norms at every layer and place, cosines between layers, and the components at the place looked at."""
    place = place_of(shown, chosen)
    arrays = named("norms", stream_norms(shown)) | named("cosines", layer_cosines(shown))
    arrays |= named("component norms", component_norms(shown)) | named("component shares", component_shares(shown))
    shows = {"components are at place": place, "components": component_names(shown), "layers": shown.layer_labels}
    return Data("residual", shows, residual_tables(shown, place), arrays)
