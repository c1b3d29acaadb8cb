"""The page *Why* as a file: the maps and bars of A and, with a B, those of B and of B - A under them."""

from app.components import MapCell
from app.components.shared.mount import recorded
from app.exports.pages.document import document
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.head_tables import name
from app.views.reasons import numbers, panels
from app.views.reasons.chosen import Explained, pair_of, sides_of
from app.views.reasons.numbers import Matrix, effect_by_name
from app.views.steps.chosen import head_of


def page(shown: Shown, chosen: Selection) -> bytes:
    """A file in which every map and bar tells its numbers."""
    sides, pair = sides_of(shown, chosen)[0], pair_of(shown, chosen)
    scores, maps, layers, taken = (
        numbers.difference({side: of(at) for side, at in sides.items()})
        for of in (numbers.score_matrix, numbers.effect_map, numbers.by_layer, lambda at: numbers.by_source(shown, at))
    )
    effects = numbers.subtract({side: effect_by_name(at) for side, at in sides.items()})
    target, distractor = shown.a.tokenizer.labels([pair.target, pair.distractor])
    with recorded() as mounted:
        for side in scores:
            called = "" if shown.b is None else f"{side}: "
            panels.score(scores[side], f"score {side}", f"{called}{panels.SCORE}")
            if at := sides.get(side):
                _cell(at, called)
            _attribution(maps[side], layers[side], taken[side], called, side, head_of(shown, chosen))
            total = f"{target} − {distractor}"
            panels.waterfall(effects[side], total, f"fall {side}", f"{called}{panels.EFFECT}")
    title = f"Why {target} and not {distractor}, and {name(head_of(shown, chosen))}"
    return document(title, shown, mounted, "plain")


def _cell(at: Explained, called: str) -> None:
    tokens = at.written.tokens
    for title, ids, by in (
        ("promotes (logits)", tokens.raised, tokens.raised_by),
        ("suppresses (logits)", tokens.lowered, tokens.lowered_by),
    ):
        texts = f"{called}the cell's write {title}"
        panels.promoted(at.run, ids.values.tolist(), by.values.tolist(), texts, texts)
    panels.outcomes(at.run, at.outcomes, f"{called}outcomes")


def _attribution(effects: Matrix, layers: Matrix, taken: Matrix, called: str, side: str, head: tuple[int, int]) -> None:
    panels.effect_map(effects, MapCell(*head), 0, f"map {side}", f"{called}{panels.EFFECT}", choosable=False)
    panels.plain_map(layers, ("", "after layer"), f"layers {side}", f"{called}target − distractor (logits)")
    panels.plain_map(taken, ("head", "token"), f"source {side}", f"{called}{name(head)}'s {panels.EFFECT}")
