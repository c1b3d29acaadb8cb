"""Direct logit attribution of a run: the direct effect of every component on the difference of two logits."""

import itertools
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.parts import Part, parts_at
from headlight.model.measure import Measure
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.measure.head_steps import Norm
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.edits import Head
from headlight.model.runs.head import attend, head_weights
from headlight.model.runs.host import kept
from headlight.model.runs.linear import check_reading, norm_of, written
from headlight.model.runs.run import Run

CONSTANTS = ("final LayerNorm's bias", "unembedding's bias")


@dataclass(frozen=True)
class Question:
    """Target and distractor (token ids), and the position at which the logit of one less the other's is measured."""

    target: int
    distractor: int
    position: int


@dataclass(frozen=True, eq=False)
class Read:
    """Readout of the target's logit minus the distractor's from a stream: final norm, direction and bias.

    A soft cap of logits comes after that: it keeps no sums.
    """

    norm: Norm | None
    direction: Float[Tensor, " d_model"]
    bias: float


def read_of(run: Run, question: Question) -> Read:
    """The final norm, and the target's column of the unembedding, as the model scales it, less the distractor's.

    Raises:
        InputError: the model's logits are no sums over what wrote to the stream.
    """
    check_reading(run.model)
    unembed = run.model.unembed
    pair = measured_outputs(len(unembed.b_U), question.target, question.distractor)
    columns, biases = widened(unembed.W_U[:, pair].detach()), unembed.b_U[pair].detach().double()
    direction = contrast(columns) * run.cfg.logits_scale
    return Read(final_norm(run), direction, float(contrast(biases)))


def final_norm(run: Run) -> Norm | None:
    """The final norm; None where there is none."""
    return norm_of(run.model.ln_final)


def unembedding(run: Run) -> Float[Tensor, "d_model d_vocab"]:
    """From a normalised stream to logits, with the factor by which the model scales them."""
    W_U, scale = widened(run.model.unembed.W_U.detach()), run.cfg.logits_scale
    return W_U if scale == 1.0 else W_U * scale


@dataclass(frozen=True, eq=False)
class Effects:
    """Every component's direct effect on target minus distractor (logits).

    `names` and `values` [part] are all of it, the biases that the model has last; `difference` [] is the run's, and
    `residual` [] how far the sum is from it. `accumulated` and `lens` [layer] run from the embedding to the last layer:
    what had been added up to there at the final scale, and what the layer itself would say at its own scale.
    """

    parts: tuple[Part, ...]
    values: Measure
    difference: Measure
    residual: Measure
    accumulated: Measure
    lens: Measure

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        return tuple(part.name for part in self.parts)


@kept
@torch.inference_mode()
def logit_attribution(run: Run, question: Question) -> Effects:
    """Attribute the difference of two logits at a position to the model's components."""
    read, final = read_of(run, question), parts_at(run, question.position)
    direct = direct_effects.direct_effects(final.vectors, final.stream, read.norm, read.direction).values
    constants = direct_effects.constant_effects(read.norm, read.direction, read.bias).values
    has_bias = read.norm is not None and read.norm.b is not None, bool(run.model.unembed.b_U.any())
    values = torch.cat([direct, constants[[*has_bias]]])
    difference = direct_effects.difference_of(final.stream, read.norm, read.direction, read.bias)
    layers = torch.tensor([-1 if part.layer is None else part.layer for part in final.parts])
    so_far = [constants.sum() + direct[layers < layer].sum() for layer in range(run.cfg.n_layers + 1)]
    streams = (stream[question.position] for stream in run.streams())
    return Effects(
        parts=(*final.parts, *map(Part, itertools.compress(CONSTANTS, has_bias))),
        values=Measure("direct effect", "logits", ("part",), values),
        difference=difference,
        residual=Measure("sum of the parts − difference", "logits", (), values.sum() - difference.values),
        accumulated=Measure("accumulated direct effect", "logits", ("layer",), torch.stack(so_far)),
        lens=direct_effects.lens_differences(streams, read.norm, read.direction, read.bias),
    )


@kept
@torch.inference_mode()
def attribution_by_source(run: Run, head: Head, question: Question) -> Measure:
    """A head's direct effect on target minus distractor at the position, by source token [key]."""
    read, stream = read_of(run, question), parts_at(run, question.position).stream
    effect = direct_effects.direct_effects(writes_of(run, head, question.position), stream, read.norm, read.direction)
    return Measure(effect.name, effect.unit, ("key",), effect.values)


def writes_of(run: Run, head: Head, query: int) -> Float[Tensor, "key d_model"]:
    """A head's writes at a query, by key."""
    layer, index = head
    weights = head_weights(run, layer, index)
    pattern, v = attend(run, layer, index).pattern[query], run.values_of(layer, index)
    with torch.inference_mode():
        return written(run, layer, direct_effects.edge_writes(pattern, v, weights.W_O).values, query)
