"""Head scores on repeated random tokens."""

from jaxtyping import Float, Int
from torch import Tensor


def previous_token_score(pattern: Float[Tensor, "batch head query key"]) -> Float[Tensor, " head"]:
    """Mean attention (probability) from a token to the one before it, per head; the first query is left out."""
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean((0, -1))


def induction_score(pattern: Float[Tensor, "batch head query key"]) -> Float[Tensor, " head"]:
    """Mean attention (probability) from a token of the second half to the one after its copy in the first half.

    Source: the prefix-matching score of Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    half = pattern.shape[-1] // 2
    return pattern[:, :, half:].diagonal(1, dim1=-2, dim2=-1).mean((0, -1))


def repeat_accuracy(
    logits: Float[Tensor, "batch pos d_vocab"], tokens: Int[Tensor, "batch pos"]
) -> Float[Tensor, " batch"]:
    """Share of tokens in the second half, from its second token on, that the logits rank first."""
    half = tokens.shape[1] // 2
    predicted = logits[:, half:-1].argmax(-1)
    return (predicted == tokens[:, half + 1 :]).float().mean(-1)


def next_token_loss(
    logits: Float[Tensor, "batch pos d_vocab"], tokens: Int[Tensor, "batch pos"]
) -> Float[Tensor, " batch"]:
    """Mean loss (nats) per row, from its second token on: for a second copy, over the predictable tokens."""
    return -logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0].mean(-1)
