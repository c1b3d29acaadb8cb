"""A neuron's weights: the tokens that it reads and writes, and its composition with heads."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.write import effects_on_outputs
from headlight.model.measure import Measure, ov
from headlight.model.neurons.activations import mlp_of
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import Neuron
from headlight.model.runs.edits.interventions import check_neuron
from headlight.model.runs.host import Steps, kept
from headlight.model.runs.linear import embedded_tokens, norm_before_mlp, writes_at_unit_scale, written
from headlight.model.runs.run import Run
from headlight.model.runs.stream_norms import norms_before_write, through_norms
from headlight.model.weights import composition
from headlight.model.weights.composition import Through
from headlight.model.weights.head_circuit import THROUGH, heads_of

MAX_TOKENS = 10


@dataclass(frozen=True, eq=False)
class NeuronTokens:
    """The tokens (ids) that a neuron's weights point to.

    `written` are those whose logits W_out raises most and lowers most, by how much a unit of activation does
    (logits), at the scales of the norms that the run has at the position. `read` are, for each matrix that it reads by,
    those whose embeddings raise what it gives most and lower it most, at a scale of 1 of the norm before it.
    """

    written: Promoted
    read: Mapping[str, Promoted]


@kept
@torch.inference_mode()
def neuron_tokens(run: Run, neuron: Neuron, position: int) -> NeuronTokens:
    """A neuron's weights as tokens.

    Raises:
        InputError: the model has no such neuron.
    """
    check_neuron(run.cfg, *neuron)
    layer, index = neuron
    write = written(run, layer, widened(mlp_of(run.model, layer).W_out[index]), position, "ln2_post")
    final = through_norms(run, write, position, norms_before_write(run, layer, "mlp_out"))
    promoted = direct_effects.most_moved(effects_on_outputs(run, final, position), MAX_TOKENS)
    W_E = embedded_tokens(run.model)
    read = {
        name: direct_effects.most_moved(W_E @ direction, MAX_TOKENS, name, "activation")
        for name, direction in directions(run.model, neuron).items()
    }
    return NeuronTokens(promoted, read)


def directions(model: Transformer, neuron: Neuron) -> dict[str, Float[Tensor, " d_model"]]:
    """The directions of the stream along which a neuron reads, with the norm's gain and centring, by matrix."""
    (layer, index), norm = neuron, norm_before_mlp(model, neuron[0])
    columns = {name: widened(W[:, [index]].detach()) for name, (_, W) in mlp_of(model, layer).reads.items()}
    return {name: ov.reading(column, norm)[:, 0] for name, column in columns.items()}


@dataclass(frozen=True, eq=False)
class Composed:
    """Composition of a neuron with heads before it (their write) and after it (their read) [layer, head].

    `writers` are by the matrix that it reads by, `readers` by what a head reads by; NaN where a head comes too late or
    too early. `random` is what a random direction scores.
    """

    writers: Mapping[str, Measure]
    readers: Mapping[Through, Measure]
    random: float


def neuron_composition(run: Run, neuron: Neuron) -> Composed:
    """The heads that a neuron is composed with, by the weights alone.

    Raises:
        InputError: the model has no such neuron.
    """
    check_neuron(run.cfg, *neuron)
    name = "composition of a neuron", run.source.name, neuron
    return run.host.keep(name, lambda: _composed(run, neuron))


@torch.inference_mode()
def _composed(run: Run, neuron: Neuron) -> Composed:
    model, (layer, index), cfg = run.model, neuron, run.cfg
    reads = directions(model, neuron)
    write = writes_at_unit_scale(model, layer, widened(mlp_of(model, layer).W_out[index]), "ln2_post")
    writers = {name: torch.full((cfg.n_layers, cfg.n_heads), torch.nan) for name in reads}
    readers = {through: torch.full((cfg.n_layers, cfg.n_heads), torch.nan) for through in THROUGH}
    last = layer - cfg.parallel_attn_mlp  # the last layer whose heads have written before it
    steps = Steps(run.host, cfg.n_layers)
    with run.host.turn():
        for at in range(cfg.n_layers):
            heads, sizes = heads_of(model, at), _sizes(run, at)
            for name, direction in reads.items() if at <= last else ():
                writers[name][at] = composition.read_by(heads["value"], direction, sizes["value"])
            for through, scores in readers.items() if at > layer else ():
                scores[at] = composition.reading_of(write, heads[through], sizes[through])
            steps.add()
    return Composed(
        {name: _measure(f"composition with its {name}", scores) for name, scores in writers.items()},
        {through: _measure(f"{through} composition", scores) for through, scores in readers.items()},
        composition.of_a_random_direction(cfg.d_model),
    )


def _sizes(run: Run, layer: int) -> dict[Through, Float[Tensor, " head"]]:
    """The sizes of a layer's circuits, which all neurons share; a query's is its key's."""

    def made() -> dict[Through, Float[Tensor, " head"]]:
        heads = heads_of(run.model, layer)
        of_query, of_value = composition.size(heads["query"]), composition.size(heads["value"])
        return {"query": of_query, "key": of_query, "value": of_value}

    return run.host.keep(("sizes of circuits", run.source.name, layer), made)


def _measure(name: str, values: Float[Tensor, "layer head"]) -> Measure:
    return Measure(name, "share", ("layer", "head"), values)
