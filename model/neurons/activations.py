"""Neurons of a run: inputs and activations, of all neurons at a position or of one over the prompt.

A run keeps what MLPs wrote and no neuron's activation. They are computed anew from the stream, at the positions that
are read; of a run with edits by another pass, because an edit finds a position by its place among all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.measure import Measure
from headlight.model.nn.blocks import Block
from headlight.model.nn.hooks import Collect
from headlight.model.nn.layers.mlp import MLP
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import Neuron
from headlight.model.runs.edits.interventions import check_neuron, no_neurons
from headlight.model.runs.host import kept
from headlight.model.runs.run import Run, once_more

AXES = ("layer", "neuron")
EVERYWHERE = slice(None)


def mlp_of(model: Transformer, layer: int) -> MLP:
    """A layer's MLP.

    Raises:
        InputError: it has none that all tokens share.
    """
    block = model.block(layer)
    if reason := no_neurons(model.cfg):
        raise InputError(reason)
    assert isinstance(block, Block)  # checked by no_neurons, as that it has no experts
    assert isinstance(block.mlp, MLP)
    return block.mlp


@dataclass(frozen=True, eq=False)
class Activations:
    """Every neuron at a position [layer, neuron].

    `reads` are what its matrices give, by name: its input; in a gated MLP its gate and what the gate lets through
    ("up"). `values` are what W_out multiplies: the activation function of that, or its product.
    """

    reads: Mapping[str, Measure]
    values: Measure


@kept
@torch.inference_mode()
def activations_at(run: Run, position: int) -> Activations:
    """Every neuron's pre-activation and activation at a position.

    Raises:
        InputError: the model has no neurons.
    """
    layers = range(run.cfg.n_layers)
    reads = {name: hook for name, (hook, _) in mlp_of(run.model, 0).reads.items()}
    activations = _seen(run, layers, slice(position, position + 1), lambda each: each[0].float())

    def stacked(called: str, hook: str) -> Measure:
        return Measure(
            called, "activation", AXES, torch.stack([activations[hook_name(layer, hook)] for layer in layers])
        )

    return Activations({name: stacked(name, hook) for name, hook in reads.items()}, stacked("activation", "hook_post"))


@kept
@torch.inference_mode()
def over_prompt(run: Run, neuron: Neuron) -> Activations:
    """One neuron's pre-activation and activation at every position [pos].

    Raises:
        InputError: the model has no such neuron.
    """
    check_neuron(run.cfg, *neuron)
    layer, index = neuron
    activations = _seen(run, [layer], EVERYWHERE, lambda each: each[:, index].float().clone())

    def measure(called: str, hook: str) -> Measure:
        return Measure(called, "activation", ("pos",), activations[hook_name(layer, hook)])

    reads = {name: measure(name, hook) for name, (hook, _) in mlp_of(run.model, layer).reads.items()}
    return Activations(reads, measure("activation", "hook_post"))


def hook_name(layer: int, hook: str) -> str:
    """The full name of an activation inside a layer's MLP."""
    return f"blocks.{layer}.mlp.{hook}"


def _seen(
    run: Run, layers: Sequence[int], positions: slice, pick: Callable[[Tensor], Tensor]
) -> dict[str, Float[Tensor, "..."]]:
    """Selected activations [pos, neuron] inside the MLPs of these layers, by their full names."""
    hooks = {layer: mlp_of(run.model, layer).reads.values() for layer in layers}
    names = [hook_name(layer, hook) for layer in layers for hook in (*(hook for hook, _ in hooks[layer]), "hook_post")]
    if run.edits:
        keep = Collect(names, lambda each: pick(each[0, positions]).cpu())
        once_more(run, keep, stop_at_layer=max(layers) + 1)
        return keep.kept
    keep = Collect(names, lambda each: pick(each[0]))
    for layer, resid_pre in zip(range(max(layers) + 1), run.streams(positions), strict=False):
        if layer in hooks:
            mlp_of(run.model, layer).post(_read(run, layer, resid_pre, positions), keep.within(f"blocks.{layer}.mlp"))
    return keep.kept


def _read(
    run: Run, layer: int, resid_pre: Float[Tensor, "pos d_model"], positions: slice
) -> Float[Tensor, "1 pos d_model"]:
    """Input of a layer's MLP at these positions."""
    block = run.model.block(layer)
    assert isinstance(block, Block)  # one without has no MLP
    resid_mid = block.after("attn_out", (resid_pre + run.cache["attn_out", layer][positions])[None])
    return block.mlp_in(resid_pre[None], resid_mid)
