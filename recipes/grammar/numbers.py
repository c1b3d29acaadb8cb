"""Numbers: counting up and down, by ones, twos, fives and tens, in digits and in words.

Held-out fillers: one in ten starting numbers in a template.
"""

import random
import re

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import NAMES, NOUNS, NUMBERS

TEMPLATES = templates("""
Count up: {one_0}, {one_1}, {one_2}, <{one_3}/{one_1}>.
Count down: {down_0}, {down_1}, {down_2}, <{down_3}/{down_1}>.
Count by two: {two_0}, {two_1}, {two_2}, <{two_3}/{two_1}>.
Count by five: {five_0}, {five_1}, {five_2}, <{five_3}/{five_1}>.
Count by ten: {ten_0}, {ten_1}, {ten_2}, <{ten_3}/{ten_1}>.
Count in words: {word_0}, {word_1}, {word_2}, <{word_3}/{word_1}>.
Count down in words: {word_3}, {word_2}, {word_1}, <{word_0}/{word_2}>.
{name} counts: {one_0}, {one_1}, {one_2}, {one_3}, <{one_4}/{one_2}>.
{name} counts down: {down_0}, {down_1}, {down_2}, {down_3}, <{down_4}/{down_2}>.
{name} counts: {word_0}, {word_1}, {word_2}, {word_3}, <{word_4}/{word_2}>.
{one_0} {one_1} {one_2} {one_3} <{one_4}/{one_2}>
{two_0} {two_1} {two_2} {two_3} <{two_4}/{two_2}>
{five_0} {five_1} {five_2} {five_3} <{five_4}/{five_2}>
{word_0} {word_1} {word_2} {word_3} <{word_4}/{word_2}>
The number after {one_0} is <{one_1}/{one_0}>.
The number before {one_1} is <{one_0}/{one_1}>.
After {word_0} comes <{word_1}/{word_0}>.
Before {word_1} comes <{word_0}/{word_1}>.
In digits {word_0} is <{digit_0}/{digit_2}>.
In words {digit_0} is <{word_0}/{word_2}>.
{name} has {digit_2} {nouns}. The number of {nouns} in words is <{word_2}/{word_0}>.
{name} had {word_2} {nouns} and found one more. Now {name} has <{word_3}/{word_2}>.
{name} had {word_3} {nouns} and lost one. Now {name} has <{word_2}/{word_3}>.
Page {one_0} is before page <{one_1}/{one_0}>.
Room {two_0} is next to room {two_1}, then comes room <{two_2}/{two_0}>.
The bus comes at {ten_0}, {ten_1} and <{ten_2}/{ten_0}>.
Step {one_0}, step {one_1}, step <{one_2}/{one_0}>.
Numbers from {one_0} to {one_3}: {one_0}, {one_1}, {one_2}, <{one_3}/{one_0}>.
The list [{one_0}, {one_1}, {one_2}] goes up by one. The list [{two_0}, {two_1}, {two_2}] goes up by two.
Two more than {two_0} is <{two_1}/{two_0}>.
Five more than {five_0} is <{five_1}/{five_0}>.
Ten more than {ten_0} is <{ten_1}/{ten_0}>.
Chapter {one_0} was long. Chapter {one_1} was short. Now we read chapter <{one_2}/{one_0}>.
The {nouns} are numbered {one_0}, {one_1}, {one_2} and <{one_3}/{one_0}>.
""")

HELD_OUT_TEMPLATES = templates("""
The numbers are {one_0}, {one_1}, {one_2}, <{one_3}/{one_1}>.
Now count: {word_0}, {word_1}, {word_2}, <{word_3}/{word_1}>.
By two: {two_0}, {two_1}, {two_2}, {two_3}, <{two_4}/{two_2}>.
House {one_0}, house {one_1}, house {one_2}, house <{one_3}/{one_1}>.
{name} wrote {down_0}, {down_1}, {down_2} and <{down_3}/{down_1}>.
""")

_NOUNS = tuple(NOUNS.values())
_NUMBER_SLOT = re.compile(r"\{(\w+_\d)\}")
_STEPS = {"one": 1, "down": -1, "two": 2, "five": 5, "ten": 10}


def _sequence(name: str, numbers: list[str] | tuple[str, ...]) -> Slots:
    return {f"{name}_{index}": number for index, number in enumerate(numbers)}


# Five numbers from each start, all of them from 1 to 99; for the words, from zero to twenty.
_DIGITS = {
    name: [
        _sequence(name, [str(start + step * index) for index in range(5)])
        for start in range(1, 100)
        if 1 <= start + 4 * step <= 99
    ]
    for name, step in _STEPS.items()
}
_WORDS = [
    _sequence("word", NUMBERS[start : start + 5]) | _sequence("digit", [str(start + index) for index in range(5)])
    for start in range(len(NUMBERS) - 4)
]


def _fill(rng: random.Random) -> Slots:
    slots = {"name": rng.choice(NAMES), "nouns": rng.choice(_NOUNS)}
    for sequences in (*_DIGITS.values(), _WORDS):
        slots.update(rng.choice(sequences))
    return slots


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    """The first number that the template shows, and the template."""
    return slots[_NUMBER_SLOT.findall(template)[0]], template


FAMILY = Family("numbers", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)
