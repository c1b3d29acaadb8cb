"""Exports of the page *Features*: its script, its numbers, and a file of its maps and tables."""

from headlight.app.components import MapCell, TokenValues, bars_once
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.drawings import Drawing, Drawings, table
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
    """Script that prints the strongest features, the reconstruction error, and everything about the chosen one."""
    view = find(comparison, chosen)
    assert view is not None  # without a dictionary nothing is offered
    options = {"layer": view.layer, "feature": view.feature, "order": view.order}
    return report(PURPOSE, comparison, chosen.align, "feature_tables", view.name, **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Tables of active features, reconstruction error and the chosen feature; listed activations as arrays."""
    view = find(comparison, chosen)
    assert view is not None  # without a dictionary nothing is offered
    subject = comparison, view.opened, view.layer
    arrays = of_sides("activations", activations(*subject, view.listed)) | of_sides("missed", missed(*subject))
    arrays |= of_sides("KL with the dictionary in place", moved(*subject)) | of_sides(
        "active features", n_active(*subject)
    )
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
    tables = feature_tables(*subject, view.feature, view.order)
    return Data("features", shows, tables, arrays)


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """Strongest features by token, the reconstruction error, and the chosen feature in full."""
    view = find(comparison, chosen)
    assert view is not None  # without a dictionary nothing is offered
    sides, subject = maps.active(view), (comparison, view.opened, view.layer)
    tables, title = feature_tables(*subject, view.feature, view.order), f"Feature {view.feature}"
    cell = MapCell(view.listed.index(view.feature), view.place)
    activation = {side: values[0] for side, values in by_side(activations(*subject, [view.feature])).items()}
    lines = named(comparison, activation, "")
    strip = TokenValues(comparison.labels, lines, title=title, signed=comparison.b is not None, turns=comparison.turns)
    sheets = [
        [table(view.description if name == "dictionary" else f"{title}: {name}", tables[name])]
        for name in TABLES
        if tables[name]["feature" if name == "nearest" else next(iter(tables[name]))]
    ]
    rows = [
        [
            Drawing(feature_map, cell, maps.GROUP)
            for feature_map in bars_once([maps.feature_map(view, sides, side) for side in sides])
        ],
        [Drawing(maps.missed_map(view), group=maps.GROUP)],
        [Drawing(strip, view.place)],
        *sheets,
    ]
    return Drawings(f"Features of {view.dictionary.hook_in}", comparison, rows)
