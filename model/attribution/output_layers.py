"""Layers between the final stream and the unembedding, made linear at a run's own activations.

A pooler, or the transform of a masked language model, has an activation function: it counts as the ratio, component by
component, of what it gave to what it took in this run, and a norm behind it at this run's scale. So a logit stays the
sum of what each part adds to it. Models without such layers have none of this.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure.head_steps import Norm
from headlight.model.measure.score_parts import read_back, rescaled, scale_of
from headlight.model.nn.hooks import NO_TAP
from headlight.model.nn.layers.mlm_head import MLMHead
from headlight.model.nn.layers.output_heads import Pooler
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.host import kept
from headlight.model.runs.linear import norm_of
from headlight.model.runs.run import Run


@dataclass(frozen=True, eq=False)
class OutputLayer:
    """A linear layer, an activation function as a factor for each component, and a norm with its scale, if any."""

    W: Float[Tensor, "d_in d_out"]
    b: Float[Tensor, " d_out"]
    ratio: Float[Tensor, " d_out"]
    norm: Norm | None
    scale: Float[Tensor, ""]

    def forward(self, parts: Float[Tensor, "part d_in"]) -> Float[Tensor, "part d_out"]:
        """What becomes of parts of the input; the biases belong to no part."""
        outputs = (parts.double() @ self.W) * self.ratio
        return outputs if self.norm is None else rescaled(outputs, self.norm, self.scale)

    def back(self, direction: Float[Tensor, " d_out"]) -> tuple[Float[Tensor, " d_in"], float]:
        """Carry a direction back through the layer; return it with the contribution of the layer's biases."""
        constant = 0.0
        if self.norm is not None:
            constant = 0.0 if self.norm.b is None else float(self.norm.b.double() @ direction)
            direction = read_back(direction, self.norm, self.scale)
        direction = direction * self.ratio
        return self.W @ direction, constant + float(self.b @ direction)


@kept
@torch.inference_mode()
def output_layers(run: Run, position: int) -> tuple[OutputLayer, ...]:
    """A run's layers before its unembedding, in order, as they are read at a position."""
    final = run.model.ln_final(run.stream(run.cfg.n_layers)[None], NO_TAP)[0].double()
    state, layers = final.mean(0) if run.cfg.pools_mean else final[position], list[OutputLayer]()
    for module in (run.model.mlm_head, run.model.pooler):
        if isinstance(module, Pooler | MLMHead):
            layer, state = _linearized(module, state)
            layers.append(layer)
    return tuple(layers)


def _linearized(module: Pooler | MLMHead, state: Float[Tensor, " d_in"]) -> tuple[OutputLayer, Float[Tensor, " d_out"]]:
    """The layer at its input, and its output."""
    W, b = widened(module.W.detach()).double(), module.b.detach().double()
    pre = state @ W + b
    post = module.act_fn(pre)
    norm = norm_of(module.ln) if isinstance(module, MLMHead) else None
    scale = torch.ones((), dtype=torch.float64) if norm is None else scale_of(post, norm)
    output = post if norm is None else rescaled(post, norm, scale)
    if norm is not None and norm.b is not None:
        output = output + norm.b.double()
    return OutputLayer(W, b, torch.where(pre == 0, 0.0, post / pre), norm, scale), output
