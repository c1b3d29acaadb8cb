"""A run without a second one: its own means stand in for the other run's parts."""

import torch

from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.transformer import Transformer
from headlight.model.patching.runs import Patching
from headlight.model.patching.sides import LogitDifference, RunSide, Tokens, check


class AgainstMeans(Patching):
    """Run A alone, whose parts can be replaced by their means over its own positions: all that tells these apart.

    Where another prompt would do, a mean also takes away what any prompt has, such as where a token stands. `b` is the
    difference read off the mean of the final streams.

    Raises:
        InputError: as `Patching`.
    """

    def __init__(self, model: Transformer, tokens: Tokens, measured: LogitDifference) -> None:
        side = RunSide(model, tokens, measured.position)
        check(side, side, measured, None)
        self._into(side, measured, "A")
        self.matches = tuple((position, position) for position in range(self.reach))
        self.base, self.a = self._run(side)
        means = {name: kept.mean(0, keepdim=True).expand_as(kept).clone() for name, kept in self.base.items()}
        self.other = ActivationCache(means, model.cfg.n_layers)
        with torch.inference_mode():
            self.b = float(self.read(self.final_of_other[None, [self.position]]))
        self._check_difference("with every part at its mean", "another prompt")
