"""Measures: numbers that know their name, their unit and their axes, and the formulas that several rooms share.

A formula takes activations and weights, and returns a `Measure` or a frozen dataclass whose fields are measures, so
that a colour bar, a table or a file needs nothing else. The formulas of one subject lie in its own room, under the
same rules:

- Inputs are one batch element, with padding sliced off. Axes are named as in the model: `layer`, `head`, `pos`, and
  for attention `query` (row) and `key` (column).
- `resid` is one [pos, d_model] tensor a layer, in the order in which the result lists them: cached activations, or
  their stack [layer, pos, d_model].
- They know no model and no run, and none holds layers x heads x tokens^2 or layers x tokens x vocabulary.
"""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Shaped
from torch import Tensor

Unit = Literal[
    "nats",
    "score",
    "logits",
    "value",
    "tokens",
    "probability",
    "L2 norm",
    "cosine",
    "share",
    "token id",
    "rank",
    "activation",
    "features",
]


@dataclass(frozen=True, eq=False)
class Measure:
    """One measured quantity: `axes[i]` says what dimension i of `values` runs over."""

    name: str
    unit: Unit
    axes: tuple[str, ...]
    values: Shaped[Tensor, "..."]

    def __post_init__(self) -> None:
        assert len(self.axes) == self.values.ndim, f"{self.name}: axes {self.axes}, values {tuple(self.values.shape)}"
