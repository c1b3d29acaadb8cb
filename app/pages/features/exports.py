"""What is taken along of the page *Features*: its script, its numbers, and a file of its maps and tables."""

from headlight.app.components import MapCell, token_values
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.html.document import document, file_table
from headlight.app.exports.script import report
from headlight.app.pages.features import maps
from headlight.app.pages.features.feature_view import find
from headlight.app.parts.sides import by_side, named
from headlight.app.selection.chosen import Selection
from headlight.model.features.tables import activations, feature_tables, missed, moved, n_active
from headlight.model.runs.comparison import Comparison

TABLES = ("dictionary", "made by", "promoted", "nearest", "read by")
PURPOSE = "The features of a dictionary in a prompt, what it misses, and one feature in full."


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints the strongest features, what the dictionary misses, and all there is of the chosen one."""
    view = find(comparison, chosen)
    assert view is not None  # without a dictionary nothing is offered
    options = {"layer": view.layer, "feature": view.feature, "order": view.order}
    return report(PURPOSE, comparison, chosen.align, "feature_tables", view.name, **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Tables of what is active and missed, and of the chosen feature; the listed features' activations as arrays."""
    view = find(comparison, chosen)
    assert view is not None  # without a dictionary nothing is offered
    of = comparison, view.opened, view.layer
    arrays = of_sides("activations", activations(*of, view.listed)) | of_sides("missed", missed(*of))
    arrays |= of_sides("KL with the dictionary in place", moved(*of)) | of_sides("active features", n_active(*of))
    shows = {
        "dictionary": view.name,
        "reads": view.dictionary.hook_in,
        "writes": list(view.dictionary.hooks_out),
        "architecture": view.dictionary.architecture,
        "features of the arrays": view.listed,
        "feature": view.feature,
        "looked at place": view.place,
        "listed by": chosen.features_by,
    }
    tables = feature_tables(*of, view.feature, view.order)
    return Data("features", shows, tables, arrays)


def page(comparison: Comparison, chosen: Selection) -> bytes:
    """A file in which every cell can be looked at."""
    view = find(comparison, chosen)
    assert view is not None  # without a dictionary nothing is offered
    sides, of = maps.active(view), (comparison, view.opened, view.layer)
    tables = feature_tables(*of, view.feature, view.order)
    strip = {side: values[0] for side, values in by_side(activations(*of, [view.feature])).items()}
    title = f"Feature {view.feature}"
    with recorded() as mounted:
        for side in sides:
            cell = MapCell(view.listed.index(view.feature), view.place)
            maps.feature_map(view, sides, side, f"features {side}", cell)
        maps.missed_map(view, "missed")
        lines = named(comparison, strip, "")
        token_values(
            comparison.labels, lines, title=title, signed=comparison.b is not None, chosen=view.place, key="strip"
        )
        for name in TABLES:
            if tables[name]["feature" if name == "nearest" else next(iter(tables[name]))]:
                file_table(f"{title}: {name}" if name != "dictionary" else view.description, tables[name])
    return document("Features", comparison, mounted, "plain")
