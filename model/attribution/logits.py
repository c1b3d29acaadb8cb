"""Direct logit attribution of a run: the direct effect of every component on the difference of two logits."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.output_layers import output_layers
from headlight.model.attribution.parts import Part, parts_at, stream_at
from headlight.model.measure import Measure
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.measure.head_steps import Norm
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.edits import Head
from headlight.model.runs.head import attend, head_weights
from headlight.model.runs.host import kept
from headlight.model.runs.linear import check_logits, norm_of, written
from headlight.model.runs.run import Run
from headlight.model.runs.stream_norms import at_the_end

FINAL_NORM_BIAS, UNEMBEDDING_BIAS = CONSTANTS = ("final LayerNorm's bias", "unembedding's bias")
OUTPUT_BIASES = "output layers' biases"


@dataclass(frozen=True)
class Question:
    """Target and distractor (token ids), and the position at which the logit of one less the other's is measured."""

    target: int
    distractor: int
    position: int


@dataclass(frozen=True, eq=False)
class Read:
    """Readout of the target's logit minus the distractor's from a stream: final norm, direction and bias.

    Where they are read from the mean of all tokens, that is what a single one's stream adds. `layers_bias` is what
    biases of a pooler or another layer before the unembedding add. A soft cap of logits comes after that: it keeps no
    sums.
    """

    norm: Norm | None
    direction: Float[Tensor, " d_model"]
    bias: float
    layers_bias: float = 0.0


def read_of(run: Run, question: Question) -> Read:
    """The final norm, and the target's column of the unembedding less the distractor's, as the model scales it.

    Layers before the unembedding count as they are at the question's position in this run.

    Raises:
        InputError: the model has no logits.
    """
    check_logits(run.model)
    unembed = run.model.unembed
    pair = measured_outputs(len(unembed.b_U), question.target, question.distractor)
    columns, biases = widened(unembed.W_U[:, pair].detach()), unembed.b_U[pair].detach().double()
    direction = contrast(columns) * run.cfg.logits_scale
    return read_along(run, question.position, direction, float(contrast(biases)))


def read_along(run: Run, position: int, direction: Float[Tensor, " d_read"], bias: float) -> Read:
    """Readout of what the unembedding reads along a direction at a position, and a bias."""
    layers_bias = 0.0
    for layer in reversed(output_layers(run, position)):
        direction, constant = layer.back(direction.double())
        layers_bias += constant
    if run.cfg.pools_mean:
        direction = direction / len(run.tokens)
    return Read(final_norm(run), direction, bias, layers_bias)


def read_positions(run: Run, position: int) -> list[int]:
    """Positions whose final streams the logits at a position are read from."""
    return list(range(len(run.tokens))) if run.cfg.pools_mean else [position]


def effects_of(
    run: Run, question: Question, parts: Callable[[int], Float[Tensor, "part d_model"]]
) -> Float[Tensor, " part"]:
    """Direct effects on target minus distractor of parts of the final stream, summed over positions that are read."""
    read = read_of(run, question)
    values = [
        direct_effects.direct_effects(parts(position), stream_at(run, position), read.norm, read.direction).values
        for position in read_positions(run, question.position)
    ]
    return torch.stack(values).sum(0)


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
    direct = effects_of(run, question, lambda position: parts_at(run, position).vectors)
    of_norm, of_unembedding = direct_effects.constant_effects(read.norm, read.direction, read.bias).values
    norm_has_bias = read.norm is not None and read.norm.b is not None
    constants = {
        FINAL_NORM_BIAS: of_norm * len(read_positions(run, question.position)) if norm_has_bias else None,
        OUTPUT_BIASES: read.layers_bias if output_layers(run, question.position) else None,
        UNEMBEDDING_BIAS: of_unembedding if run.model.unembed.b_U.any() else None,
    }
    present = {name: float(value) for name, value in constants.items() if value is not None}
    values = torch.cat([direct, torch.tensor([*present.values()], dtype=direct.dtype)])
    lens = _lens(run, question)
    layers = torch.tensor([-1 if part.layer is None else part.layer for part in final.parts])
    so_far = [sum(present.values()) + direct[layers < layer].sum() for layer in range(run.cfg.n_layers + 1)]
    return Effects(
        parts=(*final.parts, *map(Part, present)),
        values=Measure("direct effect", "logits", ("part",), values),
        difference=Measure("logit difference", "logits", (), lens.values[-1]),
        residual=Measure("sum of the parts − difference", "logits", (), values.sum() - lens.values[-1]),
        accumulated=Measure("accumulated direct effect", "logits", ("layer",), torch.stack(so_far)),
        lens=lens,
    )


def _lens(run: Run, question: Question) -> Measure:
    """Target minus distractor (logits) [layer] as the model's own last steps read each layer's stream."""
    position = question.position
    if not run.cfg.pools_mean and not output_layers(run, position):
        read = read_of(run, question)
        streams = (stream[position] for stream in run.streams())
        return direct_effects.lens_differences(streams, read.norm, read.direction, read.bias)
    logits = [run.model.before_cap(run.model.read_from(stream[None], position))[0, 0] for stream in run.streams()]
    pair = measured_outputs(len(logits[0]), question.target, question.distractor)
    return Measure("logit lens", "logits", ("layer",), contrast(torch.stack(logits)[:, pair].double()))


@kept
@torch.inference_mode()
def attribution_by_source(run: Run, head: Head, question: Question) -> Measure:
    """A head's direct effect on target minus distractor at the position, by source token [key]."""
    values = effects_of(run, question, lambda position: writes_at_the_end(run, head, position))
    return Measure("direct effect", "logits", ("key",), values)


def writes_at_the_end(run: Run, head: Head, query: int) -> Float[Tensor, "key d_model"]:
    """A head's writes at a query, by key, as they are in the final stream."""
    return at_the_end(run, head[0], writes_of(run, head, query), query)


def writes_of(run: Run, head: Head, query: int) -> Float[Tensor, "key d_model"]:
    """A head's writes at a query, by key."""
    layer, index = head
    weights = head_weights(run, layer, index)
    pattern, v = attend(run, layer, index).pattern[query], run.values_of(layer, index)
    with torch.inference_mode():
        return written(run, layer, direct_effects.edge_writes(pattern, v, weights.W_O).values, query)
