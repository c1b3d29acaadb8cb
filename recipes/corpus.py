"""The training corpus: one endless stream of documents, from the grammar and from CPython's library."""

import random
from collections.abc import Iterator

from headlight.recipes import library
from headlight.recipes.grammar import FAMILIES, Split

GRAMMAR_SHARE = 0.3
# Families whose skills the model card measures are seen more often.
FAMILY_WEIGHTS = {"giving": 8, "agreement": 3, "plain_agreement": 2}
MAX_SENTENCES = 4
# Measured with the tokenizer of assets/models/mini; they turn the share of tokens into one of characters.
CHARACTERS_PER_TOKEN = {"grammar": 4.1, "library": 3.3}


def grammar_documents(seed: int, split: Split = "train") -> Iterator[str]:
    """Endless paragraphs of one to four examples, each of any family."""
    rng = random.Random(seed)
    streams = [family.examples(rng, split) for family in FAMILIES.values()]
    weights = [FAMILY_WEIGHTS.get(name, 1) for name in FAMILIES]
    while True:
        chosen = rng.choices(streams, weights, k=rng.randint(1, MAX_SENTENCES))
        yield " ".join(next(stream).text for stream in chosen)


def library_documents(seed: int) -> Iterator[str]:
    """Endless chunks of the library's training files; each pass over them is in a new order."""
    rng = random.Random(seed)
    chunks = list(library.training_chunks())
    while True:
        rng.shuffle(chunks)
        yield from chunks


def documents(seed: int) -> Iterator[str]:
    """Endless documents of what is trained on; about `GRAMMAR_SHARE` of their tokens come from the grammar.

    The next document is taken from the source that is behind its share.
    """
    sources = {"grammar": grammar_documents(seed), "library": library_documents(seed)}
    shares = {"grammar": GRAMMAR_SHARE, "library": 1 - GRAMMAR_SHARE}
    characters_per_share = {name: shares[name] * CHARACTERS_PER_TOKEN[name] for name in sources}
    seen = dict.fromkeys(sources, 0.0)
    while True:
        behind = min(seen, key=seen.__getitem__)
        document = next(sources[behind])
        seen[behind] += len(document) / characters_per_share[behind]
        yield document
