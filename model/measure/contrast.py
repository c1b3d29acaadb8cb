"""The difference of two outputs that is explained; an only output, as a reward model's, stands for itself."""

from jaxtyping import Float
from torch import Tensor


def measured_outputs(n_outputs: int, target: int, distractor: int) -> list[int]:
    """The outputs that are measured: target and distractor, or an only one."""
    return [target] if n_outputs == 1 else [target, distractor]


def contrast(of_pair: Float[Tensor, "*rest pair"]) -> Float[Tensor, "*rest"]:
    """The target's value less the distractor's; that of an only output as it is."""
    return of_pair[..., 0] - of_pair[..., 1] if of_pair.shape[-1] > 1 else of_pair[..., 0]
