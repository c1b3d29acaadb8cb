"""Every head's mean scores, or one neuron's activations, on a prompt among many, of which nothing else is kept."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.mean_scores import MeanScores, stack
from headlight.model.neurons.activations import hook_name
from headlight.model.nn.hooks import Collect
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import Neuron
from headlight.model.runs.edits.interventions import check_neuron
from headlight.model.runs.host import HERE, Host


@dataclass(frozen=True, eq=False)
class HeadStatistics:
    """Number of tokens of a prompt, and every head's mean scores [layer, head] on it, by name."""

    n_tokens: int
    scores: dict[str, Measure]


def head_statistics(model: Transformer, tokens: Int[Tensor, " pos"], host: Host = HERE) -> HeadStatistics:
    """Every head's mean scores on a prompt's tokens, taken as the patterns pass.

    Raises:
        HeadlightError: the host lets no more passes in.
    """
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(model.cfg.n_layers)]
    score = MeanScores(tokens)
    tap = Collect(names, lambda pattern: score(pattern[0].cpu()))
    with host.turn(), torch.inference_mode():
        host.on_device(model)(tokens[None].to(host.device), tap=tap, stop_at_layer=model.cfg.n_layers)
    return HeadStatistics(len(tokens), stack(list(tap.kept.values())))


def neuron_activations(model: Transformer, tokens: Int[Tensor, " pos"], neuron: Neuron, host: Host = HERE) -> Measure:
    """Activation of a neuron at every position of a prompt [pos], by a pass that stops after its layer.

    Raises:
        InputError: the model has no such neuron.
        HeadlightError: the host lets no more passes in.
    """
    check_neuron(model.cfg, *neuron)
    (layer, index), name = neuron, hook_name(neuron[0], "hook_post")
    keep = Collect([name], lambda post: post[0, :, index].float().cpu().clone())
    with host.turn(), torch.inference_mode():
        host.on_device(model)(tokens[None].to(host.device), tap=keep, stop_at_layer=layer + 1)
    return Measure("activation", "activation", ("pos",), keep.kept[name])
