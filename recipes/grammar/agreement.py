"""Subject-verb agreement across an attractor, a noun between subject and verb that the verb must not agree with.

Templates are written for one key among cabinets: `<{is}/{are}>`. Where the subject is plural, `_fill` swaps the two
forms.

Held-out fillers: about 15% of the nouns. In this family training never sees them, neither as subject nor as
attractor, and no other family sets anything between a noun and a verb that agrees with it. What training does see of
them: singular and plural next to a verb, "this" or "these" (family `plain_agreement`), as things given, owned,
listed, quoted and counted in the other families, and whatever CPython's library happens to say of the word.
"""

import random

from headlight.recipes.grammar.template import Family, Slots, in_held_out_share, templates
from headlight.recipes.grammar.words import ADJECTIVES, NOUNS, PEOPLE, VERBS

TEMPLATES = templates("""
The {key} near the {cabinets} <{is}/{are}> {old}.
The {key} behind the {cabinets} <{is}/{are}> not {old}.
The {key} next to the {cabinets} <{was}/{were}> {old} last year.
The {key} beside the {cabinets} <{has}/{have}> been there for a long time.
The {key} by the {cabinets} <{looks}/{look}> {old}.
The {key} in front of the {cabinets} <{seems}/{seem}> {old} to me.
The {key} under the {cabinets} <{needs}/{need}> help.
The {key} from the {cabinets} <{stays}/{stay}> here.
The {old} {key} near the {cabinets} <{remains}/{remain}> in the house.
The {old} {key} beside the {cabinets} <{comes}/{come}> from Rome.
The {key} between the {cabinets} and the door <{stands}/{stand}> alone.
The {key} close to the {cabinets} <{moves}/{move}> slowly.
The {key} with the {cabinets} <{appears}/{appear}> every Monday.
The {key} across from the {cabinets} <{belongs}/{belong}> here.
The {key} far from the {cabinets} <{makes}/{make}> no noise.
The {key} opposite the {cabinets} <{does}/{do}> not move.
The {key} that the {farmers} saw <{is}/{are}> {old}.
The {key} that the {farmers} wanted <{was}/{were}> here.
The {key} that the {farmers} liked <{has}/{have}> gone.
The {key} the {farmers} talked about <{is}/{are}> over there.
The {key} that surprised the {farmers} <{was}/{were}> very {old}.
The {key} that belonged to the {farmers} <{looks}/{look}> fine.
The {key} which the {farmers} found near the {cabinets} <{is}/{are}> safe now.
We think that the {key} near the {cabinets} <{is}/{are}> {old}.
She said that the {key} behind the {cabinets} <{was}/{were}> {old}.
In the end the {key} of the {farmers} <{was}/{were}> found.
Every day the {key} by the {cabinets} <{falls}/{fall}> down.
Of course the {key} on the left of the {cabinets} <{does}/{do}> more.
Nobody knows why the {key} near the {old} {cabinets} <{is}/{are}> there.
I know the {key} beside the {old} {cabinets} <{has}/{have}> to go.
At night the {key} around the {cabinets} <{keeps}/{keep}> us awake.
For the {farmers}, the {key} near the {cabinets} <{helps}/{help}> a lot.
When it rains, the {key} below the {cabinets} <{turns}/{turn}> {old}.
""")

HELD_OUT_TEMPLATES = templates("""
The {key} to the left of the {cabinets} <{is}/{are}> {old}.
The {key} above the {cabinets} <{was}/{were}> {old} once.
The {key} that the {farmers} remembered <{has}/{have}> a long story.
He told us that the {key} opposite the {cabinets} <{is}/{are}> {old}.
In the morning the {key} near the {cabinets} of the {farmers} <{looks}/{look}> {old}.
""")

NAME, PERCENT = "agreement", 15
HELD_OUT_NOUNS = frozenset(noun for noun in NOUNS if in_held_out_share(PERCENT, NAME, noun))

_NOUNS = list(NOUNS.items())
_ATTRACTORS = [pair for pair in NOUNS.items() if pair[0] not in HELD_OUT_NOUNS]
_PEOPLE = [pair for pair in PEOPLE.items() if pair[0] not in HELD_OUT_NOUNS]
# By number of the subject: 0 singular, 1 plural.
VERB_SLOTS = (
    {form: form for pair in VERBS.items() for form in pair},
    {form: other for pair in VERBS.items() for form, other in (pair, pair[::-1])},
)


def _fill(rng: random.Random) -> Slots:
    number = rng.randrange(2)
    # Two attractors in three have the other number, so that the noun next to the verb is a bad guide.
    attractors = [number if rng.random() < 1 / 3 else 1 - number for _ in range(2)]
    subject = rng.choice(_NOUNS)
    return {
        **VERB_SLOTS[number],
        "key": subject[number],
        "subject": subject[0],
        "old": rng.choice(ADJECTIVES),
        "cabinets": rng.choice(_ATTRACTORS)[attractors[0]],
        "farmers": rng.choice(_PEOPLE)[attractors[1]],
    }


def _told_by(slots: Slots, template: str) -> tuple[str]:
    return (slots["subject"],)


FAMILY = Family(NAME, TEMPLATES, HELD_OUT_TEMPLATES, _fill, _told_by, PERCENT)
