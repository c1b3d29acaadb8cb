"""Where a token looks in a head, as a sentence."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32

from headlight.app.parts.first_heads import SPREAD
from headlight.app.parts.labels import quoted_word

LEAST_CHANGE = 0.005  # of a weight: less is 0.00 in the sentence

Row = Float32[np.ndarray, " key"]


def sentence(
    name: str,
    words: Sequence[str],
    tokens: Sequence[int],
    row: Row,
    query: int,
    sinks: Sequence[int] = (),
    where: str = "",
) -> str:
    """Where a token looks in a head, by its largest weight: what kind of token that is, in the prompt's own words.

    The words come first: what a head is called says nothing to whom the page is new.

    Args:
        name: what the head is called.
        words: the tokens as they are shown.
        tokens: their ids.
        row: the head's weights from the query to each key, NaN where it cannot look.
        query: the token that looks.
        sinks: tokens other than the first on which many heads rest.
        where: what is said of the query behind its name.
    """
    key = int(np.nanargmax(row))
    here, there = (quoted_word(words[place], place) for place in (query, key))
    return f"{here}{where} {_looks_at(key, here, there, tokens, row, query, sinks)} (head {name}, {row[key]:.2f})."


def _looks_at(
    key: int,
    here: str,
    there: str,
    tokens: Sequence[int],
    row: Row,
    query: int,
    sinks: Sequence[int],
) -> str:
    if row[key] < SPREAD:
        return spreads(row, there)
    if key in sinks and key != query:
        return f"rests on {there}, as many heads do"
    if 0 < key <= query and tokens[key - 1] == tokens[query]:
        return f"looks at {there}, which came after the earlier {here}"
    if key == query:
        return "looks at itself"
    if tokens[key] == tokens[query]:
        return f"looks at {'the earlier' if key < query else 'a later'} {there}"
    if key == 0:
        return "rests on the first token"
    if key == query - 1:
        return f"looks at the token before it, {there}"
    distance = abs(query - key)
    return f"looks at {there}, {distance} token{'' if distance == 1 else 's'} {'back' if key < query else 'on'}"


def spreads(row: Row, there: str) -> str:
    """What a token does that singles out no other; `there` is the one with the largest weight."""
    return f"spreads its attention over about {_effective_number(row)} tokens, the largest weight on {there}"


def _effective_number(row: Row) -> int:
    """Number of tokens that, looked at alike, would have the row's entropy."""
    weights = row[row > 0]
    return round(float(np.exp(-(weights * np.log(weights)).sum())))


def moved(
    name: str, here: str, sides: Sequence[tuple[Sequence[str], Row]], positions: Sequence[Sequence[int | None]]
) -> str:
    """Which token a head looks at less in B than in A, and which more.

    Args:
        name: what the head is called, and whether B ablates it, which leaves its own weights as they are.
        here: the token that looks.
        sides: the tokens of A, and those of B, with the head's weights to them.
        positions: where those of A, and those of B, are at each place that they have in common.
    """
    on_axis = [
        [(0.0, "") if at is None else (float(row[at]), quoted_word(labels[at], at)) for at in places]
        for (labels, row), places in zip(sides, positions, strict=True)
    ]
    a, b = (np.array([weight for weight, _ in side]) for side in on_axis)
    moves = [
        f"{how} at {on_axis[side][at][1]} ({a[at]:.2f} → {b[at]:.2f})"
        for how, side, change in (("less", 0, a - b), ("more", 1, b - a))
        if change[at := int(change.argmax())] >= LEAST_CHANGE
    ]
    if not moves:
        return f"{here} looks alike in A and in B (head {name})."
    return f"In B {here} looks {' and '.join(moves)} than in A (head {name})."
