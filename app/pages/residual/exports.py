"""Exports of the page *Residual stream*: its script, its numbers, and a file of its maps and bars."""

from headlight.app.components import MapCell, bars_once
from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.drawings import BarsByPlace, Drawing, Drawings, of_side, on_paper, on_screen
from headlight.app.exports.script import report
from headlight.app.pages.residual import charts, sentences
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
from headlight.model.attention.sentence_cosine import no_cosine
from headlight.model.runs.comparison import Comparison

PURPOSE = "The residual stream: how long it is, where it turns, and who writes it."


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints the stream's norms and cosines, and the components at the place looked at."""
    return report(
        PURPOSE,
        comparison,
        chosen.align,
        "residual_tables",
        place=place_of(comparison, chosen),
    )


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


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """The maps of norms and cosines, and the components' bars at a token, of which a file can choose another."""
    norms, place, compares = by_side(stream_norms(comparison)), place_of(comparison, chosen), comparison.b is not None
    by_place = bars_once([of_side(norm_map(comparison, norms, side), side, compares) for side in norms])
    maps = [Drawing(side_map, MapCell(0, place), GROUP) for side_map in by_place]
    cosines = [
        on_screen(of_side(cosine_map(comparison, values, side), side, compares))
        for side, values in by_side(layer_cosines(comparison)).items()
    ]
    plots = [[on_paper(plot) for plot in row] for row in charts.rows_on_paper(comparison, chosen)]
    of_sentences = [] if no_cosine(comparison) else _of_sentences(comparison)
    return Drawings(
        "Residual stream",
        comparison,
        [*of_sentences, maps, _bars(comparison, place), cosines, *plots],
    )


def _of_sentences(comparison: Comparison) -> list[list[Drawing]]:
    """Contributions to the cosine of A and B, a row a side."""
    return [
        [on_screen(drawn) for drawn in sentences.maps(comparison, side, parts)]
        for side, parts in sentences.parts_of(comparison).items()
    ]


def _bars(comparison: Comparison, place: int) -> list[Drawing]:
    """Write of each component at every token, and its share of the final stream where that is their sum."""
    names, measures = component_names(comparison), {"component norms (L2)": component_norms(comparison)}
    if not needs.split(comparison):
        measures["share of the final stream"] = component_shares(comparison)
    return [
        on_screen(
            BarsByPlace(names, values, comparison.labels, title if comparison.b is None else f"{side}: {title}"),
            place,
            GROUP,
        )
        for title, sides in measures.items()
        for side, values in by_side(sides).items()
    ]
