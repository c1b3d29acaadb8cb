"""The card of the embedded model `reverse`: its figures, measured.

`python -m headlight.recipes.reverse_card` prints the figures, with a NAME one of them, and `--write`
(`make card`) writes the card.
"""

from functools import cache
from pathlib import Path

import numpy as np
import torch

from headlight.model.checkpoints.loading import load_seq2seq
from headlight.model.decoding import greedy
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.training.cards import Card, Figure, command_line, megabytes
from headlight.model.training.pairs import Pair, in_parts, pad_pairs
from headlight.recipes.reverse import (
    BATCH_SIZE,
    MAX_LENGTH,
    MIN_LENGTH,
    SETTINGS,
    STEPS,
    SYMBOLS,
    Reversals,
    mirrored,
    reversals,
)

N_SEQUENCES, AT_ONCE = 10_000, 1_000


@cache
def unseen(seed: int) -> list[Pair]:
    """10,000 sequences, drawn apart from those of the training."""
    return reversals(N_SEQUENCES, np.random.default_rng((seed, STEPS)))


def exact(model: Seq2SeqTransformer, seed: int) -> float:
    """Share of unseen sequences that greedy decoding reverses without a mistake, its end included."""
    right = 0
    for pairs in in_parts(unseen(seed), AT_ONCE):
        batch = pad_pairs(pairs)
        written = greedy(model, batch.source, batch.source_mask)
        right += sum(each.tokens.tolist() == target for each, (_, target) in zip(written, pairs, strict=True))
    return right / N_SEQUENCES


def strongest_mirrored(model: Seq2SeqTransformer, seed: int) -> float:
    """Share of the symbols of unseen targets whose strongest source is the mirrored position."""
    hits = [mirrored(model, pad_pairs(pairs)) for pairs in in_parts(unseen(seed), AT_ONCE)]
    return torch.cat(hits).float().mean().item()


@cache
def _trained_on() -> frozenset[tuple[int, ...]]:
    data = Reversals(SETTINGS.seed)
    return frozenset(tuple(source) for step in range(STEPS) for source, _ in data.pairs(step))


def seen(model: Seq2SeqTransformer, seed: int) -> float:
    """Number of held-out sequences that were in the training data, whatever the model."""
    return sum(tuple(source) in _trained_on() for source, _ in unseen(seed))


FIGURES: dict[str, Figure[Seq2SeqTransformer]] = {
    "exact": Figure("unseen sequences reversed exactly by greedy decoding", exact, at_least=0.999),
    "mirrored": Figure("symbols whose strongest source is the mirrored position", strongest_mirrored, at_least=0.99),
    "seen": Figure("unseen sequences that training held", seen, at_most=0),
    "megabytes": Figure("size of the model's folder, MB", megabytes, at_most=2),
}


def facts(model: Seq2SeqTransformer, folder: Path) -> dict[str, object]:
    """Facts of the card's text besides its figures."""
    return {
        "n_symbols": len(SYMBOLS),
        "first_symbols": " ".join(SYMBOLS[:6]),
        "shortest": MIN_LENGTH,
        "longest": MAX_LENGTH,
        "n_steps": f"{STEPS:,}",
        "batch_size": BATCH_SIZE,
        "n_sequences": f"{N_SEQUENCES:,}",
    }


TEMPLATE = Path(__file__).with_name("reverse_card.md")
CARD = Card("reverse", "headlight.recipes.reverse_card", FIGURES, load_seq2seq, TEMPLATE, facts, digits=5)

if __name__ == "__main__":
    command_line(CARD)
