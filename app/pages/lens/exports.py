"""Exports of the page *Logit lens*: its script, its numbers, a file of every layer, and its plots."""

from headlight.app.components import LensPin
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.drawings import Drawing, Drawings
from headlight.app.exports.script import report
from headlight.app.pages.lens import divergence, lens_cell, scope
from headlight.app.pages.lens import view as lens
from headlight.app.pages.lens.choices import (
    Choices,
    cell_of,
    followed_token,
    lens_by_side,
    measure_of,
    scope_of,
    title_of,
)
from headlight.app.pages.lens.finding import finding
from headlight.app.selection.chosen import Selection
from headlight.model.lens.kinds import TITLES
from headlight.model.lens.tables import lens_tables, measures_of, readings
from headlight.model.runs.comparison import Comparison

PURPOSE = "What the model would say after each layer: the {}."


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints the lens, the ten best of the cell looked at, and the followed token's way to it."""
    token, (layer, place) = followed_token(comparison, chosen), cell_of(comparison, chosen)
    own, scope = chosen.choices_of(Choices), scope_of(comparison, chosen)
    options: dict[str, object] = {} if own.lens == "logit" else {"lens": own.lens}
    if own.lens != "logit" and own.lens_from:
        options["lens_from"] = own.lens_from
    if scope is not None:
        options["scope"] = scope
    purpose = PURPOSE.format(TITLES[own.lens])
    return report(purpose, comparison, chosen.align, "lens_tables", token=token, layer=layer, place=place, **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """The lens as a table, the ten best tokens of the cell looked at, and the followed token's way to it."""
    token, (layer, place) = followed_token(comparison, chosen), cell_of(comparison, chosen)
    own, by, scope = chosen.choices_of(Choices), lens_by_side(comparison, chosen), scope_of(comparison, chosen)
    reads = readings(comparison, token, by)
    measures = measures_of(comparison, reads)
    arrays = {key: measure for name, reads in measures.items() for key, measure in of_sides(name, reads).items()}
    for side, reading in reads.items():
        arrays |= {f"{side} top tokens": reading.lens.top_tokens, f"{side} top probabilities": reading.lens.top_probs}
    shows = {
        "lens": title_of(comparison, chosen),
        "sha256 of the lens": {side: lens.digest for side, lens in by.items() if lens.digest},
        "followed token": comparison.a.tokenizer.labels([token])[0],
        "its id": token,
        "cell": {"after layer": comparison.layer_labels[layer], "place": place},
        "layers": comparison.layer_labels,
    }
    if scope is not None:
        shows["patchscope"] = vars(scope)
    tables = lens_tables(comparison, token, layer, place, own.lens, own.lens_from, scope)
    return Data("lens", shows, tables, arrays)


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """The lens in the colours chosen, and the page's plots: of the cell and the token, of every lens, and the scope."""
    measure, by = measure_of(comparison, chosen), lens_by_side(comparison, chosen)
    pin = LensPin(*cell_of(comparison, chosen))
    token, lenses = followed_token(comparison, chosen), lens.lenses_of(comparison, by)
    values = lens.coloured(comparison, measure, token, lenses)
    grid = Drawing(lens.described(comparison, values, measure, lenses, pin.position), pin)
    plots = [
        *lens_cell.rows(comparison, pin, token, by),
        *divergence.rows(comparison, by, chosen),
        *scope.rows(comparison, pin, scope_of(comparison, chosen)),
    ]
    rows = [[grid], *([Drawing(plot) for plot in row] for row in plots)]
    said = finding(comparison, by, chosen)
    return Drawings(title_of(comparison, chosen), comparison, rows, finding=said)
