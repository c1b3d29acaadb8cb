"""A tiny random model and a set of pairs of two lengths, in its tokens."""

import torch
from torch import Tensor

from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet

# A float32 metric of size 10 through two layers in another order, divided by a difference of means of size 1.
TOLERANCE = {"rtol": 1e-5, "atol": 2e-5}
N_POS = 7


def row(number: int, n_pos: int = N_POS, d_vocab: int = 19) -> TokenRow:
    """A pair of random prompts with two answers, one or two wrong ones, and a named position."""
    generator = torch.Generator().manual_seed(number)
    clean, corrupted = torch.randint(d_vocab, (2, n_pos), generator=generator)
    tokens = torch.randperm(d_vocab, generator=generator).tolist()
    places = {"name": (number % 3 + 1, number % 3 + 2), "end": (n_pos - 1, n_pos - 1)}
    return TokenRow(number, clean, corrupted, tuple(tokens[:2]), tuple(tokens[2 : 3 + number % 2]), places)


def pairs(n_rows: int = 3, d_vocab: int = 19) -> TokenSet:
    """Pairs of one length, in which positions match one by one."""
    return TokenSet("pairs", tuple(row(number, N_POS, d_vocab) for number in range(1, n_rows + 1)), {}, ("name", "end"))


def ragged() -> TokenSet:
    """Pairs of two lengths, each of prompts of one."""
    return TokenSet("ragged", tuple(row(number, 6 + number % 2) for number in range(1, 6)), {}, ("name", "end"))


def by_hand(logits: Tensor, token_row: TokenRow) -> float:
    """The logit difference at the end, written out."""
    end = logits[0, -1]
    return float(end[list(token_row.answers)].mean() - end[list(token_row.wrong_answers)].mean())


def settings(**chosen: object) -> ExperimentSettings:
    """The defaults with some settings chosen."""
    return ExperimentSettings(**chosen)  # type: ignore[arg-type]
