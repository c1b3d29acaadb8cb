"""A set of subjects with a number each, in several templates, for the model mini; and what its examples are."""

import random
from functools import cache

from headlight.model import Transformer, load
from headlight.model.directions.examples import Examples, labelled_examples
from headlight.model.directions.streams import Streams, read_streams
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
from headlight.recipes.grammar.words import NOUNS

PLACES = ("near", "behind", "next to", "beside", "by", "above")
VERBS = {"singular": (" is", " are"), "plural": (" are", " is")}


def plural_set(each: int = 16, seed: int = 0) -> PromptSet:
    """So many subjects for each template, the two numbers in turn, with an attractor of either number."""
    rng, rows = random.Random(seed), []
    for place in PLACES:
        for index in range(each):
            number = ("singular", "plural")[index % 2]
            subject, other = rng.sample(list(NOUNS.items()), 2)
            text = f"The {subject[index % 2]} {place} the {other[rng.randrange(2)]}"
            right, wrong = VERBS[number]
            labels = {"number": number, "template": f"The X {place} the Y"}
            rows.append(PromptPair(text, None, (right,), (wrong,), {}, labels))
    return PromptSet("agreement", tuple(rows))


@cache
def mini() -> Transformer:
    """The model."""
    return load("mini")


@cache
def plural_examples() -> Examples:
    """Plural subjects against singular ones."""
    prompts = plural_set()
    return labelled_examples(prompts, to_tokens(prompts, mini().tokenizer, True), "number", ("plural", "singular"))


@cache
def plural_streams() -> Streams:
    """Their streams at the end."""
    return read_streams(mini(), plural_examples())
