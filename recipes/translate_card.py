"""The card of the embedded model `translate`: its figures, measured.

`python -m headlight.recipes.translate_card` prints the figures, with a NAME one of them, and `--write`
(`make card`) writes the card.
"""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from headlight.model.checkpoints.loading import load_seq2seq
from headlight.model.decoding import greedy
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.training.cards import Card, Figure, command_line, megabytes
from headlight.model.training.pairs import END, in_parts
from headlight.recipes.translation import recipe
from headlight.recipes.translation.attention import aligned, same_place, to_batch
from headlight.recipes.translation.sentences import (
    HELD_OUT_PERCENT,
    HELD_OUT_VERB_OBJECTS_PERCENT,
    Split,
    different_sentences,
)
from headlight.recipes.translation.words import Pair

UNSEEN: dict[Split, int] = {"held_out": 2_000, "held_out_verb_objects": 500}
AT_ONCE = 500
N_EXAMPLES = 8


@cache
def unseen(seed: int) -> dict[Split, list[Pair]]:
    """Different sentences that training never holds."""
    return different_sentences(seed, UNSEEN)


def translated(model: Seq2SeqTransformer, pairs: Sequence[Pair]) -> list[str]:
    """Greedy translation of each sentence, up to its end token."""
    batches = [to_batch(model, part) for part in in_parts(pairs, AT_ONCE)]
    written = [each for batch in batches for each in greedy(model, batch.source, batch.source_mask)]
    assert model.target_tokenizer is not None  # needed by `to_batch`
    return [model.target_tokenizer.to_string(each.tokens) for each in written]


def exact(split: Split, model: Seq2SeqTransformer, seed: int) -> float:
    """Share of unseen sentences of which greedy decoding writes the one translation, word for word and then its end."""
    pairs = unseen(seed)[split]
    written = translated(model, pairs)
    return sum(text == f"{pair.english} {END}" for text, pair in zip(written, pairs, strict=True)) / len(pairs)


def mean_aligned(model: Seq2SeqTransformer, seed: int) -> float:
    """Share of words aligned in the last layer, as the mean of its heads attends."""
    return aligned(model, unseen(seed)["held_out"])[-1, -1].item()


def best_head(model: Seq2SeqTransformer) -> tuple[int, int]:
    """Layer and head that are aligned the most."""
    shares = aligned(model, unseen(1)["held_out"])[:, :-1]
    return divmod(int(shares.argmax()), shares.shape[1])


def best_head_aligned(model: Seq2SeqTransformer, seed: int) -> float:
    """Share of words aligned in the head that is aligned the most."""
    return aligned(model, unseen(seed)["held_out"])[:, :-1].max().item()


@cache
def _trained_on() -> frozenset[str]:
    return frozenset(german for german, _ in recipe.corpus(recipe.SETTINGS.seed).train)


def seen(model: Seq2SeqTransformer, seed: int) -> float:
    """Share of the unseen sentences that were trained on after all, whatever the model."""
    pairs = [pair for split in unseen(seed).values() for pair in split]
    return sum(pair.german in _trained_on() for pair in pairs) / len(pairs)


FIGURES: dict[str, Figure[Seq2SeqTransformer]] = {
    "exact": Figure("held-out sentences translated exactly", partial(exact, "held_out"), at_least=0.98),
    "exact_verb_objects": Figure(
        "the same where a verb has an object that it never had in training",
        partial(exact, "held_out_verb_objects"),
        at_least=0.95,
    ),
    "seen": Figure("share of all these sentences that training held", seen, at_most=0),
    "aligned": Figure("words whose strongest source is the word that they come from", mean_aligned, at_least=0.85),
    "best_head": Figure("the same for the best single head", best_head_aligned, at_least=0.85),
    "same_place": Figure(
        "words that stand in the same place as the word that they come from",
        lambda model, seed: same_place(unseen(seed)["held_out"]),
        at_most=0.5,
    ),
    "megabytes": Figure("size of the model's folder, MB", megabytes, at_most=4),
}


def facts(model: Seq2SeqTransformer, folder: Path) -> dict[str, object]:
    """Facts of the card's text besides its figures."""
    layer, head = best_head(model)
    source, target = model.source_tokenizer, model.target_tokenizer
    assert source is not None
    assert target is not None
    examples = unseen(1)["held_out"][:N_EXAMPLES]
    return {
        "source_words": source.n_words,
        "target_words": target.n_words,
        "best_head_name": f"L{layer}H{head}",
        "examples": "\n".join(
            f"| {pair.german} | {text.removesuffix(END).rstrip()} |"
            for pair, text in zip(examples, translated(model, examples), strict=True)
        ),
        "n_train": f"{recipe.N_TRAIN:,}",
        "n_held_out": f"{UNSEEN['held_out']:,}",
        "n_verb_objects": f"{UNSEEN['held_out_verb_objects']:,}",
        "held_out_percent": HELD_OUT_PERCENT,
        "verb_objects_percent": HELD_OUT_VERB_OBJECTS_PERCENT,
        "n_steps": f"{recipe.STEPS:,}",
        "batch_size": recipe.BATCH_SIZE,
    }


TEMPLATE = Path(__file__).with_name("translate_card.md")
CARD = Card("translate", "headlight.recipes.translate_card", FIGURES, load_seq2seq, TEMPLATE, facts, digits=4)

if __name__ == "__main__":
    command_line(CARD)
