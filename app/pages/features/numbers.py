"""The page *Features* in numbers: the strongest features, what the dictionary misses, and the chosen one in full."""

from headlight.app.exports.data import Data
from headlight.app.exports.sides import named
from headlight.app.pages.features.found import find
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.reports.features import activations, feature_tables, missed, moved, n_active


def data(shown: Comparison, chosen: Selection) -> Data:
    """Tables of what is active and missed, and of the chosen feature; the listed features' activations as arrays."""
    found = find(shown, chosen)
    assert found is not None  # without a dictionary nothing is offered
    of = shown, found.opened, found.layer
    arrays = named("activations", activations(*of, found.listed)) | named("missed", missed(*of))
    arrays |= named("KL with the dictionary in place", moved(*of)) | named("active features", n_active(*of))
    shows = {
        "dictionary": found.name,
        "reads": found.dictionary.hook_in,
        "writes": list(found.dictionary.hooks_out),
        "architecture": found.dictionary.architecture,
        "features of the arrays": found.listed,
        "feature": found.feature,
        "looked at place": found.place,
        "listed by": chosen.features_by,
    }
    tables = feature_tables(*of, found.feature, found.order)
    return Data("features", shows, tables, arrays)
