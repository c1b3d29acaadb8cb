"""Vertical scores: how much later sentences attend to each sentence, and how much a head singles some of them out.

Source: Bogdan, Macar, Nanda and Conmy 2025, "Thought Anchors: Which LLM Reasoning Steps Matter?".
"""

import torch
from jaxtyping import Float
from torch import Tensor

PROXIMITY = 4  # sentences nearer than this are left out, as in the paper: most heads attend to the last few


def vertical_scores(weights: Float[Tensor, "*lead sentence sentence"]) -> Float[Tensor, "*lead sentence"]:
    """Mean attention that each sentence gets from the sentences at least four later; NaN where there are none.

    Args:
        weights: mean weight of the query sentence's tokens on a token of the key sentence.
    """
    n_sentences = weights.shape[-1]
    n_later = (n_sentences - PROXIMITY - torch.arange(n_sentences)).clamp(min=0)  # 0 / 0 is NaN
    return weights.tril(-PROXIMITY).sum(-2) / n_later


def kurtosis(scores: Float[Tensor, "*lead sentence"]) -> Float[Tensor, "*lead"]:
    """Excess kurtosis over sentences, without those of no score: 0 of a normal distribution, high for a few peaks.

    NaN where all scores are equal. It is not corrected for bias, as the paper's is not.
    """
    deviations = scores.double() - scores.double().nanmean(-1, keepdim=True)
    variance, fourth = deviations.square().nanmean(-1), deviations.pow(4).nanmean(-1)
    return (fourth / variance.square() - 3).masked_fill(variance == 0, torch.nan).to(scores.dtype)
