"""Agreement without an attractor: every noun in singular and plural, next to the words that show its number.

Held-out fillers: one in ten pairs of noun and template.
"""

import random

from headlight.recipes.grammar.agreement import VERB_SLOTS
from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import ADJECTIVES, NAMES, NOUNS, NUMBERS, with_article

TEMPLATES = templates("""
This {noun} is {old}. These {nouns} <are/is> {old}.
These {nouns} are {old}. This {noun} <is/are> {old}.
That {noun} was {old}. Those {nouns} <were/was> {old}.
Those {nouns} were {old}. That {noun} <was/were> {old}.
One {noun}, two <{nouns}/{noun}>.
One {noun}, two {nouns}, three <{nouns}/{noun}>.
I saw {count} {nouns} and one <{noun}/{nouns}>.
There is one {noun} here. There are {count} <{nouns}/{noun}> there.
There is {a_noun} at home.
There are many {nouns} in the garden.
The {key} <{is}/{are}> {old}.
The {key} <{was}/{were}> {old}.
The {key} <{has}/{have}> been {old}.
The {key} <{does}/{do}> not move.
The {key} <{looks}/{look}> {old}.
The {key} <{seems}/{seem}> {old}.
The {key} <{needs}/{need}> time.
The {key} <{stays}/{stay}> here.
The {key} <{remains}/{remain}> there.
The {key} <{comes}/{come}> first.
The {key} <{stands}/{stand}> in the street.
The {key} <{moves}/{move}> again.
The {key} <{appears}/{appear}> at night.
The {key} <{belongs}/{belong}> here.
The {key} <{makes}/{make}> {name} happy.
The {key} <{helps}/{help}> {name}.
The {key} <{keeps}/{keep}> {name} busy.
The {key} <{falls}/{fall}> down.
The {key} <{turns}/{turn}> {old}.
The {old} {key} <{is}/{are}> here.
{name} has {a_noun}. It is {old}.
{name} has {count} {nouns}. They are {old}.
Each {noun} is {old}, and all {nouns} <are/is> {old}.
""")

HELD_OUT_TEMPLATES = templates("""
One {noun} is {old}, but {count} {nouns} <are/is> not.
My {key} <{is}/{are}> {old}.
{name} thinks that the {key} <{is}/{are}> {old}.
Here the {key} <{was}/{were}> always {old}.
Sometimes the {key} <{has}/{have}> to wait.
""")

_NOUNS = [(singular, plural, with_article(singular)) for singular, plural in NOUNS.items()]


def _fill(rng: random.Random) -> Slots:
    noun, nouns, a_noun = rng.choice(_NOUNS)
    number = rng.randrange(2)
    return {
        **VERB_SLOTS[number],
        "key": (noun, nouns)[number],
        "noun": noun,
        "nouns": nouns,
        "a_noun": a_noun,
        "old": rng.choice(ADJECTIVES),
        "name": rng.choice(NAMES),
        "count": rng.choice(NUMBERS[2:]),
    }


def _told_by(slots: Slots, template: str) -> tuple[str, str]:
    return slots["noun"], template


FAMILY = Family("plain_agreement", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)
