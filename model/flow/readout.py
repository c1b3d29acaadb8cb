"""Read out states of the stream by the logit lens: top tokens, and the change of their ranks."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.best import best
from headlight.model.measure.likelihood import probabilities


@dataclass(frozen=True, eq=False)
class Readout:
    """The k likeliest tokens (ids) of a node, best first, their probabilities, and their ranks in the node below.

    Ranks are from 1; `ranks_below` is None where there is no node below.
    """

    tokens: Measure
    probabilities: Measure
    ranks_below: Measure | None


def readout(
    logits: Float[Tensor, " d_vocab"], below: Float[Tensor, " d_vocab"] | None, k: int, multi_label: bool = False
) -> Readout:
    """Logit lens readout of a node, from its logits and those of the node below it.

    Raises:
        InputError: k is below 1.
    """
    tokens = best(logits, k).indices
    shares = Measure("probability", "probability", ("k",), probabilities(logits, multi_label)[tokens])
    ranks = None
    if below is not None:
        ranks = Measure("rank below", "rank", ("k",), _ranks(below, tokens).values)
    return Readout(Measure("top tokens", "token id", ("k",), tokens), shares, ranks)


@dataclass(frozen=True, eq=False)
class ReadoutPair:
    """The k tokens (ids) that are likeliest in A or in B, with their probabilities and ranks (from 1) in both."""

    tokens: Measure
    probabilities_a: Measure
    probabilities_b: Measure
    ranks_a: Measure
    ranks_b: Measure


def readout_pair(
    a: Float[Tensor, " d_vocab_a"], b: Float[Tensor, " d_vocab_b"], k: int, multi_label: bool = False
) -> ReadoutPair:
    """Logit lens readout of a state in A and in B, over the tokens that both vocabularies have.

    Raises:
        InputError: k is below 1.
    """
    both = min(len(a), len(b))
    of_a, of_b = (probabilities(logits, multi_label)[:both] for logits in (a, b))
    tokens = best(torch.maximum(of_a, of_b), k).indices
    in_a, in_b = (Measure("probability", "probability", ("k",), each[tokens]) for each in (of_a, of_b))
    top = Measure("top tokens", "token id", ("k",), tokens)
    return ReadoutPair(top, in_a, in_b, _ranks(a, tokens), _ranks(b, tokens))


def _ranks(logits: Float[Tensor, " d_vocab"], tokens: Int[Tensor, " k"]) -> Measure:
    """From 1; equal ones share the better rank."""
    return Measure("rank", "rank", ("k",), 1 + (logits > logits[tokens][:, None]).sum(-1))
