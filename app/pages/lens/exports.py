"""What is taken along of the lens page: its script, its numbers, a file of every layer, and its plots."""

from headlight.app.components import LensPin
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.html.document import document
from headlight.app.exports.script import report
from headlight.app.pages.lens import divergence, lens_cell, scope
from headlight.app.pages.lens import view as lens
from headlight.app.pages.lens.choices import Choices
from headlight.app.pages.lens.chosen import cell_of, followed_token, lens_by_side, scope_of, title_of
from headlight.app.parts.charts import Rows
from headlight.app.selection.chosen import Selection
from headlight.model.lens.kinds import TITLES
from headlight.model.lens.tables import lens_tables, measures_of, readings
from headlight.model.runs.comparison import Comparison

PURPOSE = "What the model would say after each layer: the {}."


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints the lens, the ten best of the cell looked at, and the followed token's way to it."""
    token, (layer, place) = followed_token(shown, chosen), cell_of(shown, chosen)
    own, scope = chosen.of(Choices), scope_of(shown, chosen)
    options: dict[str, object] = {} if own.lens == "logit" else {"lens": own.lens}
    if own.lens != "logit" and own.lens_from:
        options["lens_from"] = own.lens_from
    if scope is not None:
        options["scope"] = scope
    purpose = PURPOSE.format(TITLES[own.lens])
    return report(purpose, shown, chosen.align, "lens_tables", token=token, layer=layer, place=place, **options)


def data(shown: Comparison, chosen: Selection) -> Data:
    """The lens as a table, the ten best tokens of the cell looked at, and the followed token's way to it."""
    token, (layer, place) = followed_token(shown, chosen), cell_of(shown, chosen)
    own, by, scope = chosen.of(Choices), lens_by_side(shown, chosen), scope_of(shown, chosen)
    found = readings(shown, token, by)
    measures = measures_of(shown, found)
    arrays = {key: measure for name, found in measures.items() for key, measure in of_sides(name, found).items()}
    for side, reading in found.items():
        arrays |= {f"{side} top tokens": reading.lens.top_tokens, f"{side} top probabilities": reading.lens.top_probs}
    shows = {
        "lens": title_of(shown, chosen),
        "sha256 of the lens": {side: lens.digest for side, lens in by.items() if lens.digest},
        "followed token": shown.a.tokenizer.labels([token])[0],
        "its id": token,
        "cell": {"after layer": shown.layer_labels[layer], "place": place},
        "layers": shown.layer_labels,
    }
    if scope is not None:
        shows["patchscope"] = vars(scope)
    tables = lens_tables(shown, token, layer, place, own.lens, own.lens_from, scope)
    return Data("lens", shows, tables, arrays)


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file with the lens in the colours chosen."""
    own = chosen.of(Choices)
    lenses = lens.lenses_of(shown, lens_by_side(shown, chosen))
    values = lens.coloured(shown, own.measure, followed_token(shown, chosen), lenses)
    with recorded() as mounted:
        lens.grid(shown, values, own.measure, lenses, LensPin(*cell_of(shown, chosen)), epoch=0, key="lens")
    return document(title_of(shown, chosen), shown, mounted, "plain")


def plots(shown: Comparison, chosen: Selection) -> Rows:
    """The page's plots: of the chosen cell and token, of every lens, and of what the patchscope says."""
    pin, by = LensPin(*cell_of(shown, chosen)), lens_by_side(shown, chosen)
    cell = lens_cell.rows(shown, pin, followed_token(shown, chosen), by)
    return [*cell, *divergence.rows(shown, by, chosen), *scope.rows(shown, pin, scope_of(shown, chosen))]
