"""Contributions of heads to the difference of two labels, through a pooler or norms of the residual stream.

All is carried back to where it was written: through the last layer, an activation function as the ratio of what it gave
to what it took in this run, and norms at the scales that they have in this run. So the parts sum to the difference.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attention.sentence_cosine import parts_along, scales_of
from headlight.model.measure import Measure
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.measure.score_parts import read_back
from headlight.model.nn.hooks import NO_TAP
from headlight.model.nn.layers.mlm_head import MLMHead
from headlight.model.nn.layers.output_heads import Pooler
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.host import kept
from headlight.model.runs.linear import no_reading, norm_of
from headlight.model.runs.run import Run

Vector = Float[Tensor, " d_model"]


@dataclass(frozen=True, eq=False)
class LabelParts:
    """Contributions of heads [layer, head] and the `rest` [part] to the model's target minus distractor (logits)."""

    difference: Measure
    heads: Measure
    rest_names: tuple[str, ...]
    rest: Measure


def has_label_parts(run: Run) -> bool:
    """Whether a model has labels whose logits are not plain sums over the writes to the stream."""
    return run.cfg.output in ("labels", "token labels", "answer span") and bool(no_reading(run.model))


@kept
@torch.inference_mode()
def label_parts(run: Run, target: int, distractor: int, position: int) -> LabelParts:
    """The parts of the difference of two labels at a position; of a classifier of the mean, at all positions."""
    model, unembed = run.model, run.model.unembed
    pair = measured_outputs(len(unembed.b_U), target, distractor)
    direction, constant = contrast(widened(unembed.W_U[:, pair]).double()), float(contrast(unembed.b_U[pair].double()))
    final = model.ln_final(run.stream(run.cfg.n_layers)[None], NO_TAP)[0].double()
    weights = torch.zeros(len(final), dtype=torch.float64)
    weights[slice(None) if run.cfg.pools_mean else position] = 1 / len(final) if run.cfg.pools_mean else 1.0
    read = weights @ final
    direction, bias = _before_layers(run, read, direction)
    heads, rest = parts_along(run, weights[:, None] * direction)
    rest["the head's biases"] = constant + bias
    named = {name: value for name, value in rest.items() if abs(value) > 0}
    return LabelParts(
        Measure("logit difference", "logits", (), read @ direction + constant + bias),
        Measure("part of the difference", "logits", ("layer", "head"), heads),
        tuple(named),
        Measure("part of the difference", "logits", ("part",), torch.tensor([*named.values()], dtype=torch.float64)),
    )


def _before_layers(run: Run, read: Vector, direction: Vector) -> tuple[Vector, float]:
    """Carry the direction back through a head's own layers; return it with the contribution of their biases."""
    for layer in (run.model.pooler, run.model.mlm_head):
        if isinstance(layer, Pooler | MLMHead):
            return _before(layer, read, direction)
    return direction, 0.0


def _before(layer: Pooler | MLMHead, read: Vector, direction: Vector) -> tuple[Vector, float]:
    W, constant = widened(layer.W).double(), 0.0
    pre = read @ W + layer.b.double()
    post = layer.act_fn(pre)
    if isinstance(layer, MLMHead) and (norm := norm_of(layer.ln)) is not None:
        constant = 0.0 if norm.b is None else float(norm.b.double() @ direction)
        direction = read_back(direction, norm, scales_of(post[None], norm)[0])
    gated = direction * torch.where(pre == 0, 0.0, post / pre)
    return W @ gated, constant + float(layer.b.double() @ gated)
