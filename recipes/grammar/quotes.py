"""Quoted repeats: the same words said twice.

The question asks for the last word of the second time. Held-out fillers: one in ten pairs of the last two words of
the quote.
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import ADJECTIVES, DAYS, FOODS, MEN, NOUNS, PLACES, WOMEN

TEMPLATES = templates("""
{name} said, "{start} {last}." Then {she} said again, "{start} <{last}/{wrong}>."
{name} said: "{start} {last}." And again: "{start} <{last}/{wrong}>."
"{start} {last}," said {name}. "{start} <{last}/{wrong}>," said {other} too.
"{start} {last}," {name} told us. We did not hear, so {she} repeated, "{start} <{last}/{wrong}>."
The sign says "{start} {last}". It really says "{start} <{last}/{wrong}>".
{name} wrote "{start} {last}" on the wall. {other} read "{start} <{last}/{wrong}>" and laughed.
{name} wrote "{start} {last}" in a letter, and {other} read "{start} <{last}/{wrong}>" aloud.
{name} sang "{start} {last}" and {other} sang "{start} <{last}/{wrong}>" after that.
{name} typed "{start} {last}" and the screen showed "{start} <{last}/{wrong}>".
{name} whispered "{start} {last}" to {other}, and {other} whispered "{start} <{last}/{wrong}>" back.
{name} called, "{start} {last}!" Nobody came. {name} called once more, "{start} <{last}/{wrong}>!"
{name} asked, "Is it true: {start} {last}?" Yes, {start} <{last}/{wrong}>.
The radio said "{start} {last}" in the morning and "{start} <{last}/{wrong}>" at night.
The first line is "{start} {last}" and the last line is "{start} <{last}/{wrong}>".
The title was "{start} {last}". {name} liked the title "{start} <{last}/{wrong}>".
First the children sang "{start} {last}", then the teachers sang "{start} <{last}/{wrong}>".
Repeat after me: "{start} {last}." Yes: "{start} <{last}/{wrong}>."
Say it twice: "{start} {last}, {start} <{last}/{wrong}>."
One more time: "{start} {last}." And now: "{start} <{last}/{wrong}>."
In the book {name} says "{start} {last}". In the film {she} also says "{start} <{last}/{wrong}>".
Someone said "{start} {last}", and someone else answered "{start} <{last}/{wrong}>".
'{start} {last}' was the password. {name} typed '{start} <{last}/{wrong}>'.
'{start} {last}', said {name}. '{start} <{last}/{wrong}>', said {name} again.
A = "{start} {last}" and B = "{start} <{last}/{wrong}>"
print("{start} {last}") prints "{start} <{last}/{wrong}>"
{start} {last}. {start} <{last}/{wrong}>.
{start} {last}! I tell you: {start} <{last}/{wrong}>!
They say: {start} {last}. We say: {start} <{last}/{wrong}>.
{name} remembered the words "{start} {last}". Every night {she} heard "{start} <{last}/{wrong}>" in a dream.
Once there was a song, "{start} {last}". The old people still sing "{start} <{last}/{wrong}>".
The note from {name} reads "{start} {last}". I read it again: "{start} <{last}/{wrong}>".
Translate "{start} {last}" for {name}. {name} does not understand "{start} <{last}/{wrong}>".
""")

HELD_OUT_TEMPLATES = templates("""
{name} shouted, "{start} {last}!" From far away we heard, "{start} <{last}/{wrong}>!"
The card says "{start} {last}". {name} wrote "{start} <{last}/{wrong}>" on it.
"{start} {last}," {name} began. {other} went on, "{start} <{last}/{wrong}>."
The question was "{start} {last}" and the answer was "{start} <{last}/{wrong}>".
{name} said "{start} {last}" on Monday and "{start} <{last}/{wrong}>" on Tuesday.
""")

_NOUNS = tuple(NOUNS)
_PHRASES = templates("""
The {noun1} is in the {place}
The {old1} {noun1} and the {old2} {noun2}
My {noun1} likes {food} and your {noun2}
Every {day} I see a {noun1} near the {place}
Bring {food} and the {old1} {noun1}
No {noun1} without a {noun2}
There is {food} under the {old1} {noun1}
We found the {noun1} behind the {old1} {place}
Never show the {old1} {noun1} to a {noun2}
Do not take the {noun1} to the {place}
{old1} {noun1} {old2} {noun2}
{noun1} {food} {place} {noun2}
{old1} {day} {noun1} {food} {old2} {place}
""")


def _words(rng: random.Random) -> list[str]:
    (noun1, noun2), (old1, old2) = rng.sample(_NOUNS, 2), rng.sample(ADJECTIVES, 2)
    phrase = rng.choice(_PHRASES).source.format(
        noun1=noun1,
        noun2=noun2,
        old1=old1,
        old2=old2,
        day=rng.choice(DAYS),
        food=rng.choice(FOODS),
        place=rng.choice(PLACES),
    )
    return phrase.split()


def _fill(rng: random.Random) -> Slots:
    words = _words(rng)
    name, she = (rng.choice(WOMEN), "she") if rng.random() < 0.5 else (rng.choice(MEN), "he")
    other = rng.choice([candidate for candidate in (rng.choice(WOMEN), rng.choice(MEN)) if candidate != name])
    return {
        "name": name,
        "other": other,
        "she": she,
        "start": " ".join(words[:-1]),
        "last": words[-1],
        "before_last": words[-2],
        "wrong": rng.choice(words[:-1]),
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    return slots["before_last"], slots["last"]


FAMILY = Family("quotes", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)
