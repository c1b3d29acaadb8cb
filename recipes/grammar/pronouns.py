"""Pronouns: his or her, himself or herself by the name, their by the number.

Templates are written for a woman: `<{her}/{his}>`. Where the person is a man, `_fill` swaps the forms; `{woman}` is
the person and `{man}` somebody of the other gender. Held-out fillers: one in ten persons in a template.
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import MEN, PEOPLE, PLACES, THINGS, WOMEN

TEMPLATES = templates("""
{woman} lost <{her}/{his}> {thing} near the {place}.
{woman} went home because <{she}/{he}> was tired.
{woman} looked at <{herself}/{himself}> in the mirror.
{woman} put <{her}/{his}> {thing} on the table.
{woman} said that <{she}/{he}> liked the {place}.
{woman} forgot the {thing}, so <{she}/{he}> went back.
{woman} bought a new {thing} for <{herself}/{himself}>.
{woman} came to the {place} with <{her}/{his}> friends.
{woman} was happy when <{she}/{he}> found the {thing}.
{woman} hurt <{herself}/{himself}> at the {place}.
{woman} taught <{herself}/{himself}> to paint.
{woman} met {man} at the {place}, and then <{she}/{he}> told {him} a story.
{woman} saw {man} at the {place} and gave <{him}/{her}> the {thing}.
{woman} and {man} lost <their/{her}> {things} at the {place}.
{woman} and {man} went home because <they/{she}> were tired.
{woman} and {man} looked at <themselves/{herself}> in the mirror.
{woman} and {man} like the {place} where <they/{she}> work.
The {people} forgot <their/{her}> {things} at the {place}.
The {people} were happy because <they/{she}> had a {thing}.
The {people} saw <themselves/{herself}> in the water.
After work {woman} takes <{her}/{his}> {thing} to the {place}.
When {woman} is at the {place}, <{she}/{he}> sings.
Before {woman} sleeps, <{she}/{he}> reads a book.
Every day {woman} brings <{her}/{his}> {thing} to the {place}.
Yesterday {woman} cleaned <{her}/{his}> {thing}.
The {thing} belongs to {woman}. It is <{her}/{his}> {thing}.
The {thing} fell, and {woman} heard <it/them> fall.
The {things} fell, and {woman} heard <them/it> fall.
I know {woman}. I like <{her}/{his}> {thing} a lot.
Where is {woman}? I think <{she}/{he}> is at the {place}.
This is {woman}, and that is <{her}/{his}> {thing}.
At the {place}, {woman} sang to <{herself}/{himself}>.
If {woman} comes to the {place}, <{she}/{he}> will see the {thing}.
Near the {place}, {woman} and {man} built <their/{her}> house.
""")

HELD_OUT_TEMPLATES = templates("""
{woman} broke <{her}/{his}> {thing} at the {place}.
{woman} thinks that <{she}/{he}> saw the {thing}.
{woman} is proud of <{herself}/{himself}>.
{woman} and {man} sold <their/{her}> {things}.
Today {woman} left <{her}/{his}> {thing} at the {place}.
""")

_THINGS = list(THINGS.items())
_PEOPLE = list(PEOPLE.values())
_MAN = {"she": "he", "her": "his", "herself": "himself", "he": "she", "his": "her", "him": "her", "himself": "herself"}
_WOMAN = {form: form for form in _MAN}


def _fill(rng: random.Random) -> Slots:
    is_woman = rng.random() < 0.5
    woman, man = rng.choice(WOMEN), rng.choice(MEN)
    thing, things = rng.choice(_THINGS)
    return {
        **(_WOMAN if is_woman else _MAN),
        "woman": woman if is_woman else man,
        "man": man if is_woman else woman,
        "thing": thing,
        "things": things,
        "people": rng.choice(_PEOPLE),
        "place": rng.choice(PLACES),
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    return slots["people" if "{people}" in template else "woman"], template


FAMILY = Family("pronouns", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)
