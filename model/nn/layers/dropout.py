"""Dropout."""

from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Dropout):
    """torch's own, without the calls where it drops nothing: a written token would make them in every layer."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return super().forward(x) if self.training and self.p else x
