"""The page *Features* as a file: the strongest features by token, what is missed, and the chosen feature's tables."""

from headlight.app.components import MapCell, token_values
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.features import maps
from headlight.app.pages.features.found import find
from headlight.app.parts.sides import by_side, named
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.reports.features import activations, feature_tables

TABLES = ("dictionary", "made by", "promoted", "nearest", "read by")


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every cell can be looked at."""
    found = find(shown, chosen)
    assert found is not None  # without a dictionary nothing is offered
    sides, of = maps.active(found), (shown, found.opened, found.layer)
    tables = feature_tables(*of, found.feature, found.order)
    strip = {side: values[0] for side, values in by_side(activations(*of, [found.feature])).items()}
    title = f"Feature {found.feature}"
    with recorded() as mounted:
        for side in sides:
            cell = MapCell(found.listed.index(found.feature), found.place)
            maps.feature_map(found, sides, side, f"features {side}", cell)
        maps.missed_map(found, "missed")
        lines = named(shown, strip, "")
        token_values(shown.labels, lines, title=title, signed=shown.b is not None, chosen=found.place, key="strip")
        for name in TABLES:
            if tables[name]["feature" if name == "nearest" else next(iter(tables[name]))]:
                file_table(f"{title}: {name}" if name != "dictionary" else found.told, tables[name])
    return document("Features", shown, mounted, "plain")
