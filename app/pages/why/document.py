"""The page *Why* as a file: the maps and bars of A and, with a B, those of B and of B - A under them."""

from collections.abc import Mapping

from headlight.app.components import MapCell
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.signed_bars import signed_bars
from headlight.app.pages.why import by_features, panels
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why.chosen import sides_of
from headlight.app.pages.why.figures import condensed
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.pair import pair_of
from headlight.app.parts.sides import DIFFERENCE, compared
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import Head, head_name
from headlight.model.explain.explained import Explained
from headlight.model.reports.why import effect_by_name


def page(shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every map and bar tells its numbers."""
    sides, pair = sides_of(shown, chosen)[0], pair_of(shown, chosen)
    scores, maps, layers, taken = (
        compared(sides, of)
        for of in (numbers.score_matrix, numbers.effect_map, numbers.by_layer, lambda at: numbers.by_source(shown, at))
    )
    effects = compared(sides, effect_by_name)
    changes = numbers.changes_of(sides)
    target, distractor = shown.a.tokenizer.labels([pair.target, pair.distractor])
    with recorded() as mounted:
        for side in scores:
            called = "" if shown.b is None else f"{side}: "
            panels.score(scores, side, f"score {side}", f"{called}{panels.SCORE}")
            _cell(sides, side, called)
            changed = panels.outcome_rows(changes[side])
            signed_bars(changed, title=f"{called}{panels.CHANGE}", series=panels.SERIES, key=f"outcomes {side}")
            _attribution((maps, layers, taken), called, side, head_of(shown, chosen))
            fall = panels.fall_rows(effects[side], f"{target} − {distractor}")
            signed_bars(fall, title=f"{called}{panels.EFFECT}", key=f"fall {side}")
        if (reader := by_features.wanted(shown, chosen, head_of(shown, chosen)[0])) is not None:
            _features(shown, reader, sides)
    title = f"Why {target} and not {distractor}, and {head_name(head_of(shown, chosen))}"
    return document(title, shown, mounted, "plain")


def _features(shown: Comparison, reader: by_features.Reader, sides: Mapping[str, Explained]) -> None:
    """The score by pairs of features, and what the head moves, of each side."""
    scores = by_features.score_matrices(reader, sides)
    moved = {each: condensed(of) for each, of in by_features.moved_matrices(shown, reader, sides).items()}
    for side in scores:
        called = "" if shown.b is None else f"{side}: "
        panels.score(scores, side, f"score by features {side}", f"{called}{panels.SCORE}, by features")
        axes = ("moved", "token")
        panels.plain_map(moved, side, axes, f"moved {side}", f"{called}what the head moves, {panels.EFFECT}")


def _cell(sides: Mapping[str, Explained], side: str, called: str) -> None:
    tokens, at = numbers.promoted_of(sides)[side], sides.get(side) or sides["B"]
    raised, lowered = (f"{called}the cell's write {title}" for title in panels.PROMOTES[side == DIFFERENCE])
    halves = ((raised, tokens.raised, tokens.raised_by), (lowered, tokens.lowered, tokens.lowered_by))
    for title, ids, by in halves:
        rows = panels.promoted_rows(at.run, ids.values.tolist(), by.values.tolist())
        signed_bars(rows, title=title, key=title)


def _attribution(found: tuple[dict[str, Matrix], ...], called: str, side: str, head: Head) -> None:
    effects, layers, taken = found
    panels.effect_map(effects, side, MapCell(*head), 0, f"map {side}", f"{called}{panels.EFFECT}", choosable=False)
    panels.plain_map(layers, side, ("", "after layer"), f"layers {side}", f"{called}target − distractor (logits)")
    panels.plain_map(taken, side, ("head", "token"), f"source {side}", f"{called}{head_name(head)}'s {panels.EFFECT}")
