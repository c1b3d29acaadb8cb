"""The page *Why* as a file: the maps and bars of A and, with a B, those of B and of B - A under them."""

from collections.abc import Mapping

from app.components import MapCell
from app.components.shared.mount import recorded
from app.exports.pages.document import document
from app.selection.chosen import Head, Selection
from app.shown import Shown
from app.views.parts import name
from app.views.reasons import numbers, panels
from app.views.reasons.chosen import Explained, pair_of, sides_of
from app.views.reasons.numbers import Matrix, effect_by_name
from app.views.sides import DIFFERENCE
from app.views.steps.chosen import head_of


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every map and bar tells its numbers."""
    sides, pair = sides_of(shown, chosen)[0], pair_of(shown, chosen)
    scores, maps, layers, taken = (
        numbers.difference({side: of(at) for side, at in sides.items()})
        for of in (numbers.score_matrix, numbers.effect_map, numbers.by_layer, lambda at: numbers.by_source(shown, at))
    )
    effects = numbers.subtract({side: effect_by_name(at) for side, at in sides.items()})
    changes = numbers.changes_of(sides)
    target, distractor = shown.a.tokenizer.labels([pair.target, pair.distractor])
    with recorded() as mounted:
        for side in scores:
            called = "" if shown.b is None else f"{side}: "
            panels.score(scores, side, f"score {side}", f"{called}{panels.SCORE}")
            _cell(sides, side, called)
            panels.outcomes(changes[side], f"outcomes {side}", f"{called}{panels.CHANGE}")
            _attribution((maps, layers, taken), called, side, head_of(shown, chosen))
            total = f"{target} − {distractor}"
            panels.waterfall(effects[side], total, f"fall {side}", f"{called}{panels.EFFECT}")
    title = f"Why {target} and not {distractor}, and {name(head_of(shown, chosen))}"
    return document(title, shown, mounted, "plain")


def _cell(sides: Mapping[str, Explained], side: str, called: str) -> None:
    tokens, at = numbers.promoted_of(sides)[side], sides.get(side) or sides["B"]
    raised, lowered = (f"{called}the cell's write {title}" for title in panels.PROMOTES[side == DIFFERENCE])
    panels.promoted(at.run, tokens.raised.values.tolist(), tokens.raised_by.values.tolist(), raised, raised)
    panels.promoted(at.run, tokens.lowered.values.tolist(), tokens.lowered_by.values.tolist(), lowered, lowered)


def _attribution(found: tuple[dict[str, Matrix], ...], called: str, side: str, head: Head) -> None:
    effects, layers, taken = found
    panels.effect_map(effects, side, MapCell(*head), 0, f"map {side}", f"{called}{panels.EFFECT}", choosable=False)
    panels.plain_map(layers, side, ("", "after layer"), f"layers {side}", f"{called}target − distractor (logits)")
    panels.plain_map(taken, side, ("head", "token"), f"source {side}", f"{called}{name(head)}'s {panels.EFFECT}")
