"""The probabilities of outputs: of one among all, or of each label by itself where a text may have several."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.measure import Measure


def probabilities(logits: Float[Tensor, "*rest output"], multi_label: bool = False) -> Float[Tensor, "*rest output"]:
    """The probability of each output: softmax; the sigmoid of an only one, and of each of several labels."""
    return logits.sigmoid() if multi_label or logits.shape[-1] == 1 else logits.softmax(-1)


def kl_divergence(
    logits: Float[Tensor, "*#rest output"], edited: Float[Tensor, "*#rest output"], multi_label: bool = False
) -> Measure:
    """KL(run || edited) in nats [variant]: the loss from taking an edited run's distribution for the run's own.

    Labels that a text may have several of are independent, so that it is the sum over all of them.
    """
    log_p, log_q = (_log_probabilities(each.double(), multi_label) for each in (logits, edited))
    kl = (log_p.exp() * (log_p - log_q)).sum((-2, -1))
    return Measure("KL(run || edited)", "nats", ("variant",), kl.clamp_min(0))  # rounding alone can make it negative


def _log_probabilities(
    logits: Float[Tensor, "*rest output"], multi_label: bool
) -> Float[Tensor, "*rest variable value"]:
    """Those of the values of each variable: of one that is an output, or of a label that is there or not."""
    if multi_label:
        return nn.functional.logsigmoid(torch.stack([logits, -logits], -1))
    return logits.log_softmax(-1)[..., None, :]
