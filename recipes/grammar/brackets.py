"""Brackets and quotation marks that close in the order in which they opened, in text and in code-like lines.

The question asks which bracket closes next. Held-out fillers: one in ten pairs of the opening brackets and the words
inside, or of name and noun where the brackets are fixed.
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import NAMES, NOUNS, PLACES

TEMPLATES = templates("""
{before} <{close}/{wrong}>{after}
Brackets: {before} <{close}/{wrong}>{after}.
{name} wrote {before} <{close}/{wrong}>{after} on the board.
{name} typed {before} <{close}/{wrong}>{after} and pressed a key.
{name} opens and closes: {before} <{close}/{wrong}>{after}.
This is balanced: {before} <{close}/{wrong}>{after}.
Balanced again: {before} <{close}/{wrong}>{after}, and {around}.
The code was {before} <{close}/{wrong}>{after}; it worked.
First {around}, then {before} <{close}/{wrong}>{after}.
{x} = {before} <{close}/{wrong}>{after}
return {before} <{close}/{wrong}>{after}
print ( {before} <{close}/{wrong}>{after} )
if {before} <{close}/{wrong}>{after} : pass
for {x} in {before} <{close}/{wrong}>{after} : print ( {x} )
{x} = [ {y} , ( {before} <{close}/{wrong}>{after} ) ]
The {noun} ( near the {place} ) surprised {name} ( who came late <)/]> .
{name} saw the {noun} ( the one [ or two ] by the {place} <)/]> .
{name} [ the writer ( of the {noun} ) <]/)> is at the {place}.
{name} ( a friend of {name2} ) went to the {place} [ see the {noun} <]/)> .
{around}
{name} wrote {around} and {around2}.
{x} = {around}
print({around})
{x} = {y}({around}, {around2})
{x} = {{"{noun}": {around}, "{place}": {around2}}}
def {x}({y}): return {around}
We know the {noun} ({name}'s) and the {place} [{name2}'s].
{name} (who lives near the {place}) has a {noun} (see "{place}").
"{name} said 'the {noun}' and left," wrote {name2} ("the {place}").
{x}[{y}] = ({y}, [{x}, ({y}, {x})])
print({x}[{y}], ({x}, {y}), {{"{noun}": [{x}]}})
({name}, {name2}), [{noun}, {place}], {{{x}, {y}}}
The words are ["{noun}", "{place}"] and the names are ("{name}", "{name2}").
""")

HELD_OUT_TEMPLATES = templates("""
{name} reads {before} <{close}/{wrong}>{after} aloud.
A balanced line: {before} <{close}/{wrong}>{after}.
while {before} <{close}/{wrong}>{after} : {x} = {y}
{name2} saw {before} <{close}/{wrong}>{after} in the book.
{name} left the {place} ( with the {noun} [ or without ] <)/]> .
""")

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = tuple(_CLOSING)
_VARIABLES = tuple("abcdefghijkmnpqrstuvwxyz")
_WORDS = (*_VARIABLES, *NOUNS, *map(str, range(100)))


def _question(rng: random.Random) -> Slots:
    """Two to five brackets open around one to three words; some close, and the next to close is the target."""
    opened = [rng.choice(_OPENING) for _ in range(rng.randint(2, 5))]
    inside = " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 3)))
    closing = [_CLOSING[bracket] for bracket in reversed(opened)]
    target = rng.randrange(len(closing))
    wrong = rng.choice([bracket for bracket in _CLOSING.values() if bracket != closing[target]])
    return {
        "opened": " ".join(opened),
        "inside": inside,
        "before": " ".join([*opened, inside, *closing[:target]]),
        "close": closing[target],
        "wrong": wrong,
        "after": "".join(" " + bracket for bracket in closing[target + 1 :]),
    }


def _nested(rng: random.Random, depth: int) -> str:
    """A bracketed expression without spaces inside the brackets, as code has it: `(a, [b, {c}])`."""
    if depth == 0:
        return rng.choice(_WORDS)
    opening = rng.choice(_OPENING)
    parts = [_nested(rng, rng.randrange(depth)) for _ in range(rng.randint(1, 3))]
    return opening + ", ".join(parts) + _CLOSING[opening]


def _fill(rng: random.Random) -> Slots:
    name, name2 = rng.sample(NAMES, 2)
    x, y = rng.sample(_VARIABLES, 2)
    return {
        **_question(rng),
        "around": _nested(rng, 3),
        "around2": _nested(rng, 2),
        "name": name,
        "name2": name2,
        "x": x,
        "y": y,
        "noun": rng.choice(tuple(NOUNS)),
        "place": rng.choice(PLACES),
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    if "{before}" in template:
        return slots["opened"], slots["inside"]
    return slots["name"], slots["noun"]


FAMILY = Family("brackets", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)
