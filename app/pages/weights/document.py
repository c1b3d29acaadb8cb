"""The page *Weights* as a file: tables that can be sorted, and the maps of earlier heads."""

from headlight.app.analyses.weights import circuit_of
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.weights.numbers import listed, looked_up
from headlight.app.pages.weights.view import called, draw_map
from headlight.app.pages.weights.weight_tables import (
    above_random,
    compositions_of,
    directions_table,
    farthest,
    pairs_table,
    partners_tables,
    strengths_table,
    weights_of,
)
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import head_name
from headlight.model.explain.circuits import THROUGH


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every pair, every direction and every earlier head tells its numbers."""
    of = weights_of(shown, chosen)
    pairs, token = circuit_of(of.key).pairs(), looked_up(of.run, chosen)
    where = f" in {listed(of)}" if of.compares else ""
    with recorded() as mounted:
        file_table(f"Highest pairs of all{where}", pairs_table(of, pairs.highest))
        file_table(f"Lowest pairs of all{where}", pairs_table(of, pairs.lowest))
        for title, columns in ({} if token is None else partners_tables(of, token)).items():
            file_table(title, columns)
        if of.compares:
            file_table("Singular values", strengths_table(of))
        file_table(f"Singular directions{where}", directions_table(of, circuit_of(of.key).directions()))
        if of.head[0]:
            above = above_random(compositions_of(of))
            for side, maps in above.items():
                for through in THROUGH:
                    key = f"composition_{through}_{side}"
                    draw_map(maps[through], called(through, side, of), farthest(above), key)
    title = f"Weights of {head_name(of.head)}, {of.kind.upper()} circuit,"
    return document(title, shown if of.compares else Comparison(shown.a), mounted, "plain", tokens=False)
