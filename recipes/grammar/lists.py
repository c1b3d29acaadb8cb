"""Lists: things are named and then named again in the same order.

Held-out fillers: one in ten pairs of the first two things (where the list is of single things, of the first and the
last).
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import FOODS, MEN, PLACES, THINGS, WOMEN, with_article

TEMPLATES = templates("""
{name} bought {a}, {b} and {c}. At home {she} unpacked {a}, {b} and <{c}/{a}>.
{name} needs {a}, {b} and {c}. At the {place} {she} bought {a}, {b} and <{c}/{b}>.
Shopping list: {a}, {b}, {c}, {d}. In the bag: {a}, {b}, {c}, <{d}/{b}>.
To buy: {a}, {b}, {c}. Bought: {a}, {b}, <{c}/{a}>.
{name} saw {a}, {b} and {c} at the {place}. I also saw {a}, {b} and <{c}/{b}>.
The list says {a}, {b}, {c} and {d}. {name} reads: {a}, {b}, {c} and <{d}/{a}>.
We sell {a}, {b} and {c}. {name} asked for {a}, {b} and <{c}/{a}>.
In the {place} there were {a}, {b} and {c}. {name} took {a}, {b} and <{c}/{b}>.
{name} likes {a}, {b} and {c}. So I gave {name} {a}, {b} and <{c}/{a}>.
First {a}, then {b}, then {c}. Again: first {a}, then {b}, then <{c}/{a}>.
{name} packed {one_a}, {one_b} and {one_c}. In the evening {she} unpacked {one_a}, {one_b} and a <{last}/{first}>.
On the table are {one_a}, {one_b} and {one_c}. {name} draws {one_a}, {one_b} and a <{last}/{first}>.
{name} found {one_a} and {one_c} near the {place}. Back home {she} kept {one_a} and a <{last}/{first}>.
{a}, {b}, {c}, {a}, {b}, <{c}/{a}>.
{a} {b} {c} {d} {a} {b} {c} <{d}/{a}>
{a}, {b}, {c}, {d}; {a}, {b}, {c}, <{d}/{b}>.
1. {a} 2. {b} 3. {c}. That is {a}, {b} and <{c}/{b}>.
Remember these words: {a}, {b}, {c}, {d}. The words were {a}, {b}, {c}, <{d}/{b}>.
{name} sells {a} and {b}. Nobody else sells {a} and <{b}/{a}>.
{name} wants {a}, not {b}. Here you are, {name}: not {b} but <{a}/{b}>.
Please bring {a}, {b} and {c}. Did you bring {a}, {b} and <{c}/{a}>?
Did {name} count the {a}, the {b} and the {c}? Yes, the {a}, the {b} and the <{c}/{a}>.
Yesterday {name} dreamed of {a}, {b} and {c}. Today there were {a}, {b} and <{c}/{a}> at the {place}.
There is a picture of {a}, {b} and {c}. {name} can see the {a}, the {b} and the <{c}/{b}>.
The shop has {a}, {b}, {c} and {d}. Its window shows {a}, {b}, {c} and <{d}/{a}>.
The box holds {a}, {b} and {c}. Open it and you find {a}, {b} and <{c}/{a}>.
{name} lost {a} and {b} at the {place}. A week later {name} found {a} and <{b}/{a}>.
{name} ordered {a} with {b}. The waiter brought {a} with <{b}/{a}>.
I have {a}. You have {a} and {b}. They have {a}, {b} and {c}. We all have {a}, {b} and <{c}/{a}>.
Some people collect {a}, some {b}, some {c}. {name} collects {a}, {b} and <{c}/{b}>.
items = [{a}, {b}, {c}, {d}] and copy = [{a}, {b}, {c}, <{d}/{b}>]
- {a} - {b} - {c} - {d} = {a} - {b} - {c} - <{d}/{b}>
""")

HELD_OUT_TEMPLATES = templates("""
{name} carried {a}, {b} and {c} to the {place}. There {she} sold {a}, {b} and <{c}/{a}>.
Menu: {a}, {b}, {c}, {d}. {name} chose {a}, {b}, {c}, <{d}/{b}>.
Look, {a}, {b} and {c}! Where? There: {a}, {b} and <{c}/{a}>.
{name} painted {a}, {b} and {c}. The picture shows {a}, {b} and <{c}/{b}>.
Take {a}, {b}, {c} and {d}. I said {a}, {b}, {c} and <{d}/{a}>.
""")

_ITEMS = (*THINGS.values(), *FOODS)
# "a <{last}>" stands in some templates, so these things take no "an".
_THINGS = tuple(thing for thing in THINGS if with_article(thing).startswith("a "))


def _fill(rng: random.Random) -> Slots:
    a, b, c, d = rng.sample(_ITEMS, 4)
    first, middle, last = rng.sample(_THINGS, 3)
    name, she = (rng.choice(WOMEN), "she") if rng.random() < 0.5 else (rng.choice(MEN), "he")
    return {
        "a": a,
        "b": b,
        "c": c,
        "d": d,
        "name": name,
        "she": she,
        "place": rng.choice(PLACES),
        "first": first,
        "last": last,
        "one_a": f"a {first}",
        "one_b": f"a {middle}",
        "one_c": f"a {last}",
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    return (slots["first"], slots["last"]) if "{first}" in template else (slots["a"], slots["b"])


FAMILY = Family("lists", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)
