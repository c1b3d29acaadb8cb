"""Beginnings of sentences up to the verb, each about one thing or about several: does `is` or `are` have to follow?

Every text holds one noun in the singular and one in the plural, and comes with its twin, in which the two have changed
places: the same words, the other label. So no count of words can do better than a coin, and neither can a look at
the last noun, which is the subject of half of the texts.

Held out are the nouns that `mini` never saw as a subject with a noun between it and its verb, and some templates.
"""

import random
from collections.abc import Iterator
from itertools import islice

from headlight.model.training.labelled import Example
from headlight.recipes.grammar.agreement import HELD_OUT_NOUNS
from headlight.recipes.grammar.template import Split, Template, templates
from headlight.recipes.grammar.words import ADJECTIVES, NOUNS

CLASSES = ("one", "several")

SUBJECT_FIRST = templates("""
The {subject} near the {other}
The {subject} behind the {other}
The {subject} beside the {other}
The {subject} in front of the {other}
The {subject} from the {other}
The {subject} between the {other} and the door
The {subject} across from the {other}
The {subject} that was near the {other}
The {subject} I found behind the {other}
The {subject} with the {old} {other}
The {subject} on the left of the {old} {other}
The {old} {subject} by the {other}
The {old} {subject} under the {other}
The {old} {subject} below the {other}
We think that the {subject} next to the {other}
Nobody knows why the {subject} around the {old} {other}
In the end the {subject} close to the {other}
At night the {old} {subject} far from the {other}
When it rains, the {subject} beside the {other}
""")
SUBJECT_LAST = templates("""
Near the {other} the {subject}
Behind the {other} the {old} {subject}
Because of the {other} the {subject}
For the {other}, the {subject}
Like the {other}, the {subject}
Next to the {old} {other} the {subject}
In front of the {other}, the {old} {subject}
Not the {other} but the {subject}
After the {other} came, the {old} {subject}
When the {other} fell down, the {subject}
If you see the {other}, the {subject}
I found the {other}. The {subject}
I like the {old} {other}. The {subject}
Nobody saw the {other}, but the {subject}
We saw the {old} {other}, and the {subject}
We went to the {other}, where the {subject}
She said of the {other} that the {subject}
When I think of the {other}, the {subject}
""")
HELD_OUT_SUBJECT_FIRST = templates("""
The {subject} to the left of the {other}
The {subject} above the {old} {other}
The {old} {subject} that I saw near the {other}
He told us that the {subject} opposite the {other}
In the morning the {subject} on the right of the {other}
""")
HELD_OUT_SUBJECT_LAST = templates("""
Under the {other} the {old} {subject}
Besides the {other}, the {subject}
Before I saw the {old} {other}, the {subject}
You know the {other}, but the {subject}
They told us about the {other}. The {old} {subject}
""")

_HELD_OUT = [pair for pair in NOUNS.items() if pair[0] in HELD_OUT_NOUNS]
_TRAINED = [pair for pair in NOUNS.items() if pair[0] not in HELD_OUT_NOUNS]


def examples(n_twins: int, seed: int, split: Split = "train") -> list[Example]:
    """Draw this many different texts with their twins; both use a template of either order equally often."""
    return [example for twins in islice(_twins(random.Random(f"{split} {seed}"), split), n_twins) for example in twins]


def _twins(rng: random.Random, split: Split) -> Iterator[tuple[Example, Example]]:
    held_out = split == "held_out_templates"
    orders = (HELD_OUT_SUBJECT_FIRST, HELD_OUT_SUBJECT_LAST) if held_out else (SUBJECT_FIRST, SUBJECT_LAST)
    nouns = _HELD_OUT if split == "held_out_fillers" else _TRAINED
    drawn = set[str]()
    while True:
        template = rng.choice(orders[len(drawn) % 2])
        (singular, _), (_, plural) = rng.sample(nouns, 2)
        old = rng.choice(ADJECTIVES)
        one, several = (_text(template, *roles, old) for roles in ((singular, plural), (plural, singular)))
        if one not in drawn:
            drawn.add(one)
            yield (one, CLASSES[0]), (several, CLASSES[1])


def _text(template: Template, subject: str, other: str, old: str) -> str:
    return template.example({"subject": subject, "other": other, "old": old}).text
