"""The recipe of the embedded model `reverse`: a sequence of symbols in, the same from its end to its beginning out.

`python -m headlight.recipes.reverse` (`make train-reverse`) trains it, or goes on from the last
checkpoint.
"""

import argparse
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.model.base.errors import exit_on_error
from headlight.model.checkpoints.loading import EMBEDDED
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.training.loop import Settings
from headlight.model.training.outputs import check_out
from headlight.model.training.pairs import END_TOKEN, START_TOKEN, Data, Pair, PairBatch, pad_pairs
from headlight.model.training.parallel_text import word_tokenizer
from headlight.model.training.schedules import Cosine
from headlight.model.training.train_seq2seq import WRITTEN, finish, new_model, train

# Syllables of a consonant and a vowel: all equally wide, and no two look alike.
SYMBOLS = tuple(consonant + vowel for consonant in "bcdfghjklmnprstvwxyz" for vowel in "aeiou")[:97]
TOKENIZER = word_tokenizer(SYMBOLS)
FIRST_SYMBOL = TOKENIZER.to_single_token(SYMBOLS[0])
MIN_LENGTH, MAX_LENGTH = 8, 16

CONFIG = Seq2SeqConfig(
    n_encoder_layers=2,
    n_decoder_layers=2,
    d_model=64,
    n_heads=4,
    d_head=16,
    n_ctx=MAX_LENGTH + 2,  # with a start and an end token
    d_vocab=FIRST_SYMBOL + len(SYMBOLS),
    start_token=START_TOKEN,
    end_token=END_TOKEN,
    source_end_token=END_TOKEN,
    positions="learned",
    shared_embeddings="all",
)
BATCH_SIZE, N_HELD_OUT = 64, 512
STEPS = 4_000
SETTINGS = Settings(steps=STEPS, schedule=Cosine(peak=2e-3, warmup=200, steps=STEPS))


def reversals(n_pairs: int, rng: np.random.Generator) -> list[Pair]:
    """Sequences of 8 to 16 symbols, each drawn from all 97, and the same reversed."""
    lengths = rng.integers(MIN_LENGTH, MAX_LENGTH, size=n_pairs, endpoint=True).tolist()
    rows = rng.integers(FIRST_SYMBOL, CONFIG.d_vocab, size=(n_pairs, MAX_LENGTH)).tolist()
    sequences = [row[:length] for row, length in zip(rows, lengths, strict=True)]
    return [([*symbols, END_TOKEN], [*symbols[::-1], END_TOKEN]) for symbols in sequences]


class Reversals(Data):
    """Fresh sequences at every step."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @property
    def identity(self) -> str:
        """The seed says it all."""
        return f"reversals of seed {self._seed}"

    @cached_property
    def held_out(self) -> list[PairBatch]:
        """Drawn after those of the last step."""
        return [pad_pairs(reversals(N_HELD_OUT, np.random.default_rng((self._seed, STEPS))))]

    def pairs(self, step: int) -> list[Pair]:
        """The sequences of a step."""
        return reversals(BATCH_SIZE, np.random.default_rng((self._seed, step)))

    def batch(self, step: int) -> PairBatch:
        """The sequences of a step, padded to one length."""
        return pad_pairs(self.pairs(step))


@torch.inference_mode()
def mirrored(model: Seq2SeqTransformer, batch: PairBatch) -> Bool[Tensor, " symbol"]:
    """For every symbol of the targets, whether the position that it is copied from is attended to most.

    The attention is that of the last decoder layer to the source, as a mean over its heads, from the token before the
    symbol, where it is foretold; the right targets are fed in.
    """
    name = f"decoder.blocks.{model.cfg.n_decoder_layers - 1}.cross_attn.hook_pattern"
    inputs, mask = batch.target[:, :-1], batch.target_mask[:, :-1]
    _, cache = model.run_with_cache(batch.source, inputs, name, batch.source_mask, mask)
    strongest = cache[name].mean(1).argmax(-1)
    n_symbols = batch.source_mask.sum(1, keepdim=True) - 1
    query = torch.arange(strongest.shape[1])
    return (strongest == n_symbols - 1 - query)[query < n_symbols]


@exit_on_error()
def main() -> None:
    """Train from the command line and write the model's folder."""
    parser = argparse.ArgumentParser(description="Train the embedded model reverse.")
    parser.add_argument("--out", type=Path, default=EMBEDDED / "reverse", help="the model's folder")
    parser.add_argument("--run", type=Path, default=Path("runs/reverse"), help="checkpoints and log are kept here")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    check_out(arguments.out, *WRITTEN)
    model = new_model(CONFIG, SETTINGS.seed)
    model.source_tokenizer = model.target_tokenizer = TOKENIZER
    data = Reversals(SETTINGS.seed)
    (held_out,) = data.held_out
    train(
        model,
        data,
        SETTINGS,
        arguments.run,
        lambda model: {"mirrored": mirrored(model, held_out).float().mean().item()},
    )
    finish(model, arguments.run, arguments.out)


if __name__ == "__main__":
    main()
