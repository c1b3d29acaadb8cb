"""Giving: two people are named, one of them gives, and the other is the one given to (the indirect object).

The giver is the first or the second named, equally often. Held-out fillers: one in ten pairs of names, in either
order. Training sees each of the two names with most of the others, but never these two together in this family.
"""

import random

from headlight.recipes.grammar.template import Family, Slots, templates
from headlight.recipes.grammar.words import NAMES, PLACES, THINGS, with_article

TEMPLATES = templates("""
When {first} and {second} went to the {place}, {giver} gave {a_thing} to <{receiver}/{giver}>.
When {first} and {second} got to the {place}, {giver} handed {a_thing} to <{receiver}/{giver}> and smiled.
After {first} and {second} met at the {place}, {giver} sold {a_thing} to <{receiver}/{giver}> for two coins.
While {first} and {second} were walking to the {place}, {giver} showed {a_thing} to <{receiver}/{giver}>.
Before {first} and {second} left the {place}, {giver} brought {a_thing} to <{receiver}/{giver}>.
{first} and {second} were at the {place} and {giver} gave {a_thing} to <{receiver}/{giver}>.
{first} and {second} went to the {place}. {giver} gave {a_thing} to <{receiver}/{giver}>. It was a good day.
{first} and {second} had lunch at the {place}. Then {giver} passed {a_thing} to <{receiver}/{giver}>.
{first} and {second} sat near the {place}, and soon {giver} offered {a_thing} to <{receiver}/{giver}>.
One day {first} and {second} came to the {place}. There {giver} lent {a_thing} to <{receiver}/{giver}>.
Yesterday {first} met {second} at the {place}, and {giver} gave {a_thing} to <{receiver}/{giver}>.
Last week {first} saw {second} near the {place}. {giver} returned {a_thing} to <{receiver}/{giver}>.
Then {first} and {second} had a long talk at the {place}. Later {giver} sent {a_thing} to <{receiver}/{giver}>.
Then {first} and {second} went to the {place}, where {giver} bought {a_thing} for <{receiver}/{giver}>.
{first} and {second} are old friends. At the {place}, {giver} found {a_thing} for <{receiver}/{giver}>.
{first} knows {second} well. This morning {giver} made {a_thing} for <{receiver}/{giver}>.
As {first} and {second} waited by the {place}, {giver} threw {a_thing} to <{receiver}/{giver}>.
Because {first} and {second} work at the {place}, {giver} often gives {a_thing} to <{receiver}/{giver}>.
If {first} and {second} go to the {place}, {giver} will give {a_thing} to <{receiver}/{giver}>.
{first} invited {second} to the {place}. In the evening {giver} carried {a_thing} to <{receiver}/{giver}>.
When {first} and {second} were at the {place}, {giver} decided to give {a_thing} to <{receiver}/{giver}>.
When {second} was late, {first} waited at the {place}. In the end {giver} gave {a_thing} to <{receiver}/{giver}>.
The {thing} was at the {place} with {first} and {second}. So {giver} gave it to <{receiver}/{giver}>.
There were only {first} and {second} at the {place}, so {giver} gave the {thing} to <{receiver}/{giver}>.
Both {first} and {second} wanted the {thing}, but at the {place} {giver} left it to <{receiver}/{giver}>.
At the {place}, {first} and {second} talked for an hour, and {giver} read a letter to <{receiver}/{giver}>.
On the way to the {place}, {first} and {second} stopped, and {giver} gave the {thing} back to <{receiver}/{giver}>.
Today {first} and {second} cleaned the {place}. {giver} had {a_thing} and gave it to <{receiver}/{giver}>.
Friends of {first} and {second} say that {giver} once gave {a_thing} to <{receiver}/{giver}> at the {place}.
{first} and {second} both like the {place}. There {giver} told a story to <{receiver}/{giver}>.
{first} and {second} went to the {place} together, and {giver} wrote a note to <{receiver}/{giver}>.
{when} {first} and {second} {went} the {place}, {giver} {gave} {a_thing} to <{receiver}/{giver}>.
{when} {first} and {second} {went} the {place}, {giver} {gave} the {thing} to <{receiver}/{giver}>.
{when} {first} and {second} {went} the {place}, {giver} {made} {a_thing} for <{receiver}/{giver}>.
{first} and {second} {went} the {place}. {later} {giver} {gave} the {thing} to <{receiver}/{giver}>.
{first} and {second} {went} the {place}. {later} {giver} {made} {a_thing} for <{receiver}/{giver}>.
{later} {first} and {second} {went} the {place}, and {giver} {gave} {a_thing} to <{receiver}/{giver}>.
{later} {first} and {second} {went} the {place}, and {giver} {made} the {thing} for <{receiver}/{giver}>.
{later} {first} and {second} {went} the {place}. {giver} {gave} {a_thing} to <{receiver}/{giver}>.
{when} {first} and {second} {went} the {place} and the {place_too}, {giver} {gave} the {thing} to <{receiver}/{giver}>.
{when} {first} {went} the {place} with {second}, {giver} {gave} {a_thing} to <{receiver}/{giver}>.
{when} {first} and {second} {went} the {place} together, {giver} {made} {a_thing} for <{receiver}/{giver}>.
{when} {first} and {second} talked about the {place_too}, {giver} {gave} the {thing} to <{receiver}/{giver}>.
{first} and {second} {went} the {place}. {later} {giver} {gave} {a_thing} to <{receiver}/{giver}>.
{first} and {second} {went} the {place}, and {giver} {gave} the {thing} to <{receiver}/{giver}>.
{first} and {second} {went} the {place} and the {place_too}. {later} {giver} {gave} the {thing} to <{receiver}/{giver}>.
{first} {went} the {place} with {second}. {later} {giver} {made} the {thing} for <{receiver}/{giver}>.
{later} {first} and {second} {went} the {place}, and {giver} {gave} the {thing} to <{receiver}/{giver}>.
{later} {first} and {second} {went} the {place}, where {giver} {made} {a_thing} for <{receiver}/{giver}>.
{later} {first} {went} the {place} with {second}, and {giver} {gave} {a_thing} to <{receiver}/{giver}>.
""")

HELD_OUT_TEMPLATES = templates("""
When {first} and {second} arrived at the {place}, {giver} gave the {thing} to <{receiver}/{giver}>.
After {first} and {second} visited the {place}, {giver} mailed {a_thing} to <{receiver}/{giver}>.
Once {first} and {second} were inside the {place}, {giver} offered the {thing} to <{receiver}/{giver}>.
{first} and {second} spent the day at the {place}. At noon {giver} handed the {thing} to <{receiver}/{giver}>.
Last night {first} and {second} ate at the {place}, and {giver} brought {a_thing} for <{receiver}/{giver}>.
""")


def _phrases(text: str) -> list[str]:
    return text.strip().replace("\n", "|").split("|")


# The words around the names in the templates above that leave them open; none is the held-out templates' own.
WHEN = _phrases("""
When|After|While|As|Before|Since|Because|Until|Soon after|Just as|Just before|Shortly after|Even before|As soon as
The moment|The day|The morning|The first time|Every time|Although|Even though|Now that
""")
WENT = _phrases("""
went to|got to|came to|walked to|ran to|drove to|rode to|were at|were near|were outside|stayed at|stayed in|sat near
sat outside|stood in|slept in|met at|met outside|talked at|worked at|left|saw|found|entered|reached|passed|painted
were on the way to|came back from|spent an hour at|spent the evening in|had dinner at|were late for|drank tea at
""")
GAVE = _phrases("gave|handed|sold|showed|brought|passed|offered|lent|threw|sent|returned|carried|read|took")
MADE = _phrases("bought|found|made|kept|carried|brought|got|chose|opened|repaired|cleaned|held")
LATER = _phrases("""
Then|Later|Soon|Now|Today|Yesterday|There|Again|Suddenly|In the evening|In the morning|In the afternoon|At night
At midnight|At first|At last|At once|At two|At nine|At dinner|Last week|Last month|Last summer|Last Sunday|This week
This morning|On Monday|On Friday|One day|One evening|After lunch|After a while|Before dinner|By evening|All day
""")

_THINGS = [(thing, with_article(thing)) for thing in THINGS]


def _fill(rng: random.Random) -> Slots:
    first, second = rng.sample(NAMES, 2)
    giver, receiver = (first, second) if rng.random() < 0.5 else (second, first)
    thing, a_thing = rng.choice(_THINGS)
    return {
        "first": first,
        "second": second,
        "giver": giver,
        "receiver": receiver,
        "thing": thing,
        "a_thing": a_thing,
        "place": rng.choice(PLACES),
        "place_too": rng.choice(PLACES),
        "when": rng.choice(WHEN),
        "went": rng.choice(WENT),
        "gave": rng.choice(GAVE),
        "made": rng.choice(MADE),
        "later": rng.choice(LATER),
    }


def _told_by(slots: Slots, template: str) -> list[str]:
    return sorted((slots["first"], slots["second"]))


FAMILY = Family("giving", TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by)
