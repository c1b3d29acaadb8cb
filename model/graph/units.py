"""Split an MLP into units: its neurons, or the features of a transcoder that replaces it.

An activation is taken as linear in what it reads. A feature that is active is that by itself: it is its encoder row
times what is read, and a constant. A neuron's is x times a gate, GELU's x Φ(x) or a gated MLP's, and the gate is frozen
still, as patterns and the scales of norms are.

Source: Ameisen et al. 2025, "Circuit Tracing", for features; Jafari et al. 2025, "RelP", for the gates of neurons.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.features import Dictionary
from headlight.model.graph.linearized_run import LinearizedRun, Stream, scales
from headlight.model.measure import ov
from headlight.model.measure.head_steps import Norm, normalize
from headlight.model.neurons.activations import mlp_of
from headlight.model.nn.blocks import Block
from headlight.model.nn.hooks import Chain, Collect
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.edits.interventions import no_neurons
from headlight.model.runs.linear import writes_at_unit_scale

UnitKind = Literal["neuron", "feature"]


@dataclass(frozen=True, eq=False)
class Units:
    """A layer's neurons or active features: their activations, input weights, and writes with the MLP written to.

    `activations` are `gates` times what `reads` (with the norm before folded in, but for its `read_scales`) picks from
    the stream, and a constant. `writes` are what each adds at an activation of 1, at the places of the MLPs of these
    layers, divided by `write_scales`. `limit` is the stage from which on nothing is read.
    """

    kind: UnitKind
    layer: int
    ids: Int[Tensor, " unit"]
    activations: Float[Tensor, "pos unit"]
    gates: Float[Tensor, "pos unit"]
    reads: Float[Tensor, "unit d_model"]
    read_scales: Float[Tensor, " pos"]
    writes: dict[int, Float[Tensor, "unit d_model"]]
    write_scales: dict[int, Float[Tensor, " pos"]]
    limit: int

    def place(self, unit: int) -> int:
        """Index of a neuron or an active feature among the units."""
        return int((self.ids == unit).nonzero()[0])


@dataclass(frozen=True, eq=False)
class Skip:
    """A transcoder's skip connection: a linear map from the stream that its features read to its own MLP's place.

    `matrix` has the norm before it folded in, but for the units' `read_scales`. `writes` are what it adds in the run.
    """

    matrix: Float[Tensor, "d_model d_model"]
    writes: Stream


@dataclass(frozen=True, eq=False)
class Mlp:
    """One layer's MLP in parts: its units, a constant write, and a skip connection past the units."""

    units: Units
    bias: Stream
    skip: Skip | None = None


def units_of(linearized: LinearizedRun, dictionaries: Mapping[int, Dictionary] | None) -> list[Mlp]:
    """Every layer's MLP in parts, by neurons or by transcoders; none of a model without MLPs.

    Raises:
        InputError: MLPs of several experts, or dictionaries that are no transcoders of these MLPs.
    """
    cfg = linearized.run.cfg
    if cfg.attn_only:
        return []
    if dictionaries is not None:
        check_transcoders(dictionaries, cfg.n_layers)
        return [_features(linearized, layer, dictionaries[layer]) for layer in range(cfg.n_layers)]
    if reason := no_neurons(cfg):
        raise InputError(f"{reason} So there is no graph of neurons; open transcoders of its MLPs, or another model.")
    return [_neurons(linearized, layer) for layer in range(cfg.n_layers)]


def check_transcoders(dictionaries: Mapping[int, Dictionary], n_layers: int) -> None:
    """Refuse dictionaries that do not stand for every MLP of a model of so many layers.

    Raises:
        InputError: a layer has no dictionary, or one that is no transcoder.
    """
    for layer in range(n_layers):
        dictionary = dictionaries.get(layer)
        if dictionary is None:
            raise InputError(
                f"The dictionaries have none for layer {layer}; a graph needs a transcoder for each MLP, layers 0 to "
                f"{n_layers - 1}. Choose other dictionaries, or neurons."
            )
        names = [f"blocks.{later}.hook_mlp_out" for later in range(layer, n_layers)]
        if not set(dictionary.hooks_out) <= set(names):
            raise InputError(
                f"{dictionary.name} stands for {', '.join(dictionary.hooks_out)}; a graph needs transcoders, which "
                f"stand for what MLPs write ({names[0]}). Choose another dictionary, or neurons."
            )


@torch.inference_mode()
def _neurons(linearized: LinearizedRun, layer: int) -> Mlp:
    mlp, (stream, norm, limit) = mlp_of(linearized.run.model, layer), linearized.reads(layer)
    pre, post, own = _activations(linearized, layer)
    W_in, W_out = (widened(weights.detach()).double() for weights in (mlp.W_in, mlp.W_out))
    # A neuron's activation set by an edit is a constant; at 0 the gate does not matter.
    gates = torch.where((post == own) & (pre != 0), post / pre, 0.0)
    units = Units(
        kind="neuron",
        layer=layer,
        ids=torch.arange(W_in.shape[1]),
        activations=post,
        gates=gates,
        reads=ov.reading(W_in, norm).T,
        read_scales=scales(stream, norm),
        writes={layer: writes_at_unit_scale(linearized.run.model, layer, W_out, "ln2_post")},
        write_scales={layer: linearized.mlp_scales(layer)},
        limit=limit,
    )
    return Mlp(units, linearized.mlp_bias(layer, widened(mlp.b_out.detach())))


def _activations(linearized: LinearizedRun, layer: int) -> tuple[Stream, Stream, Stream]:
    """Linear part of each neuron, its activation, and the activation without the run's edits."""
    run, prefix = linearized.run, f"blocks.{layer}.mlp"
    block = run.model.block(layer)
    assert isinstance(block, Block)  # one without has no neurons
    linear = "hook_pre_linear" if run.cfg.gated_mlp else "hook_pre"
    streams = list(run.streams())
    mid = block.after("attn_out", run.mid(layer, streams[layer])[None])
    read = block.mlp_in(streams[layer][None], mid)
    names = [f"{prefix}.{name}" for name in (linear, "hook_post")]
    own, edited = Collect(names), Collect(names)
    block.mlp(read, own.within(prefix))
    block.mlp(read, Chain(run.tap, edited).within(prefix))
    pre, unedited, post = (each[0, : linearized.n_pos].double() for each in (*own.kept.values(), edited.kept[names[1]]))
    return pre, post, unedited


@torch.inference_mode()
def _features(linearized: LinearizedRun, layer: int, dictionary: Dictionary) -> Mlp:
    stream, norm, limit = _read_by(linearized, layer, dictionary.hook_in)
    read = stream if norm is None else normalize(stream, norm).values.values
    activations = dictionary.encode(read).double()
    active = activations.any(0).nonzero().flatten()
    rows = dictionary.encoder_rows(active.tolist()).double()
    places = {int(hook.split(".")[1]): out for out, hook in enumerate(dictionary.hooks_out)}
    units = Units(
        kind="feature",
        layer=layer,
        ids=active,
        activations=activations[:, active],
        gates=(activations[:, active] != 0).double(),
        reads=ov.reading(rows.T, norm).T,
        read_scales=scales(stream, norm),
        writes={place: dictionary.decoder_rows(active.tolist(), out).double() for place, out in places.items()},
        write_scales={place: torch.ones(linearized.n_pos, dtype=torch.float64) for place in places},
        limit=limit,
    )
    return Mlp(
        units, dictionary.b_dec(places[layer]).double().expand(linearized.n_pos, -1), _skip(dictionary, read, norm)
    )


def _skip(dictionary: Dictionary, read: Stream, norm: Norm | None) -> Skip | None:
    if dictionary.skip is None:
        return None
    skip = widened(dictionary.skip)
    matrix = ov.reading(dictionary.reading.linear(skip.T).T.double(), norm)
    return Skip(matrix, (dictionary.reading.apply(read.float()) @ skip).double())


def _read_by(linearized: LinearizedRun, layer: int, hook: str) -> tuple[Stream, Norm | None, int]:
    """Stream that a transcoder reads, the transformation before it, and the first stage that is not in it."""
    stream, norm, limit = linearized.reads(layer)
    if hook == f"blocks.{layer}.ln2.hook_normalized":
        return stream, None if norm is None else Norm(norm.eps, centred=norm.centred), limit
    if hook == f"blocks.{layer}.hook_resid_mid":
        return linearized.mid(layer), None, 2 * layer + 1
    if hook == f"blocks.{layer}.hook_resid_pre":
        return linearized.streams[layer], None, 2 * layer
    raise InputError(
        f"A transcoder of layer {layer} reads {hook}; a graph can follow those that read "
        f"blocks.{layer}.ln2.hook_normalized, hook_resid_mid or hook_resid_pre."
    )
