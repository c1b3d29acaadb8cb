"""Building the graph of a run: the parts with the largest effects become nodes, all others are constants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.logits import read_along, read_positions, unembedding
from headlight.model.attribution.parts import logits_at
from headlight.model.base.errors import InputError
from headlight.model.features import Dictionary
from headlight.model.graph.graph import Graph, Node, Target
from headlight.model.graph.linearized_run import LinearizedRun, scales
from headlight.model.graph.linking import edges_of
from headlight.model.graph.pulling import Followed, Parts, Pull, Pulled, pull
from headlight.model.graph.sources import sources_of
from headlight.model.graph.units import units_of
from headlight.model.measure import ov
from headlight.model.measure.likelihood import probabilities
from headlight.model.runs.linear import check_logits
from headlight.model.runs.run import Run

MAX_NODES = 300


@dataclass(frozen=True)
class Aim:
    """The logit that an attribution graph explains.

    Attributes:
        token: target token id.
        distractor: token id whose logit is subtracted; None to subtract the mean logit.
        position: where the logits are read.
    """

    token: int
    distractor: int | None
    position: int


def graph_of(
    run: Run,
    aim: Aim,
    dictionaries: Mapping[int, Dictionary] | None = None,
    most: int = MAX_NODES,
    folded: bool = False,
) -> Graph:
    """The attribution graph of a prediction: heads' writes and the neurons or features of every MLP as nodes.

    Patterns, norm scales and gates are frozen to the run's own; norms of the stream itself too, where it is normalised
    after each addition. Of all heads' writes and units those `most` with the largest effects on the target become
    nodes; the others are gathered, by layer and position, in nodes of their own that nothing flows into. With `folded`
    heads are no nodes but part of the edges, as in circuit-tracer; transcoders' skip connections always are.

    Source: Ameisen et al. 2025, "Circuit Tracing: Revealing Computational Graphs in Language Models".

    Raises:
        InputError: a model without logits or units of this kind, or a run of which `no_graph` says why it has none.
    """
    check_logits(run.model)
    if reason := no_graph(run):
        raise InputError(reason)
    _check(run, aim, most)
    name = getattr(dictionaries, "name", "")
    key = "attribution graph", aim, name, most, folded
    return run.keep(key, lambda: _graph_of(run, aim, dictionaries, most, folded, name))


def no_graph(run: Run) -> str:
    """Reason why a run's stream is not made of heads' and MLPs' writes alone; a sentence, or empty."""
    if run.cfg.conv_kernel_size:
        return (
            "The convolution behind this model's first layer takes from neighbouring tokens without a head, so that a "
            "graph would lack these paths. Use Why or Patching instead."
        )
    if run.cfg.post_norm and run.edits_stream:
        return (
            "This run's edits change the stream of a model that normalises it after each addition, so that they are no "
            "write of their own. Remove these edits, or use Why instead."
        )
    return ""


def _check(run: Run, aim: Aim, most: int) -> None:
    if not 0 <= aim.position < len(run.tokens):
        raise InputError(f"There is no position {aim.position}: the prompt has tokens 0 to {len(run.tokens) - 1}.")
    for token in (aim.token, aim.distractor):
        if token is not None and not 0 <= token < len(run.next_logits):
            raise InputError(f"There is no token {token}; the vocabulary has ids 0 to {len(run.next_logits) - 1}.")
    if aim.token == aim.distractor:
        raise InputError("Target and distractor are the same token, so that they never differ. Choose two.")
    if most < 1:
        raise InputError(f"A graph of {most} nodes explains nothing. Allow at least 1.")


@torch.inference_mode()
def _graph_of(
    run: Run, aim: Aim, dictionaries: Mapping[int, Dictionary] | None, most: int, folded: bool, name: str
) -> Graph:
    with run.host.turn():
        parts, reading = taken_apart(run, aim.position, dictionaries), reading_of(run, aim)
        n_stages = parts.linearized.n_stages
        followed, n_candidates = _chosen(parts, pull(parts, reading.pull, n_stages, Followed()), most, folded)
        pulled = pull(parts, reading.pull, n_stages, followed)
        sources = sources_of(parts, followed, folded)
        edges = edges_of(parts, sources, pulled, reading.pull[aim.position], reading.weights, folded)
        effects = sources.by_node(sources.read_by(pulled, n_stages))
    targets = [node for node in sources.nodes if node.is_followed]
    value = torch.tensor([reading.value], dtype=torch.float64)
    activations = torch.cat([_activations(parts, targets, effects), value])
    at = len(targets)  # where the target's logit stands
    edges = torch.cat([edges[:, :at], torch.zeros_like(edges[:, :1]), edges[:, at:]], 1)
    return Graph(
        model=run.source.name,
        prompt=run.prompt,
        token_ids=tuple(run.tokens.tolist()),
        tokens=run.labels,
        texts=tuple(run.model.to_str_tokens(run.tokens.tolist())),
        target_text=run.label_names[aim.token] if run.label_names else run.model.to_string([aim.token]),
        target_label=run.outputs.labels([aim.token])[0],
        target_less="" if aim.distractor is None else f"“{run.outputs.labels([aim.distractor])[0]}”",
        dictionary=name,
        folded=folded,
        target=Target(aim.token, aim.distractor, aim.position, reading.value, reading.probability),
        nodes=(*targets, Node("logit", aim.position, None, aim.token), *sources.nodes[at:]),
        edges=edges,
        bias=activations - edges.sum(1),
        activations=activations,
        slopes=torch.cat([_slopes(parts, pulled, targets), torch.ones_like(value)]),
        effects=torch.cat([effects[:at], value, effects[at:]]),
        n_candidates=n_candidates,
    )


def taken_apart(run: Run, position: int, dictionaries: Mapping[int, Dictionary] | None) -> Parts:
    """Linearize a run up to a position, and split it into heads and MLP units."""
    linearized = LinearizedRun(run, position)
    return Parts(
        linearized, [linearized.heads(layer) for layer in range(run.cfg.n_layers)], units_of(linearized, dictionaries)
    )


@dataclass(frozen=True, eq=False)
class Reading:
    """Readout of a target from the last stream, its value and the token's probability.

    `pull` is a direction at the target's position; where the mean of all tokens is read it stands at each of them, as
    that at the target's position times `weights`.
    """

    pull: Pull
    weights: Float[Tensor, " pos"]
    value: float
    probability: float


def reading_of(run: Run, aim: Aim) -> Reading:
    """The target's column of the unembedding less the distractor's, or less the mean of all, through the final norm.

    A pooler or another layer before the unembedding counts as `output_layers` has it.
    """
    W_U, b_U = unembedding(run), run.model.unembed.b_U.detach()
    other, bias = (W_U.mean(1), b_U.mean()) if aim.distractor is None else (W_U[:, aim.distractor], b_U[aim.distractor])
    read = read_along(run, aim.position, (W_U[:, aim.token] - other).double(), float(b_U[aim.token] - bias))
    stream, norm, positions = LinearizedRun(run, aim.position).streams[-1], read.norm, read_positions(run, aim.position)
    of_norm, direction_at, weights = scales(stream, norm), torch.zeros_like(stream), torch.zeros(len(stream)).double()
    for position in positions:
        direction_at[position] = ov.reading(read.direction[:, None], norm)[:, 0] / of_norm[position]
        weights[position] = of_norm[aim.position] / of_norm[position]
    values = [direct_effects.difference_of(stream[position], norm, read.direction, 0.0) for position in positions]
    value = sum(float(each.values) for each in values) + read.bias + read.layers_bias
    probability = probabilities(logits_at(run, aim.position).double(), run.cfg.multi_label)[aim.token]
    return Reading(direction_at, weights, value, float(probability))


def _chosen(parts: Parts, pulled: Pulled, most: int, folded: bool) -> tuple[Followed, int]:
    """The heads' writes and units with the largest effects, and how many have any."""
    layers = range(len(parts.heads))
    of_heads = [torch.einsum("phv,hpv->hp", parts.heads[layer].z, pulled.values[layer]) for layer in layers]
    of_heads = [
        torch.zeros_like(effects) if folded or parts.heads[layer].constant else effects
        for layer, effects in enumerate(of_heads)
    ]
    of_units = [mlp.units.activations * pulled.units[layer] for layer, mlp in enumerate(parts.mlps)]
    sizes = torch.cat([effects.flatten() for effects in (*of_heads, *of_units)]).abs()
    n_candidates = int(sizes.count_nonzero())
    chosen = torch.zeros(len(sizes), dtype=torch.bool)
    chosen[sizes.topk(min(most, n_candidates)).indices] = True
    pieces = chosen.split([effects.numel() for effects in (*of_heads, *of_units)])
    kept = [piece.reshape(effects.shape) for piece, effects in zip(pieces, (*of_heads, *of_units), strict=True)]
    return Followed(None if folded else kept[: len(layers)], kept[len(layers) :]), n_candidates


def _activations(parts: Parts, targets: Sequence[Node], effects: Float[Tensor, " node"]) -> Float[Tensor, " target"]:
    """Activation of each neuron or feature; for a head's write its effect."""
    activations = effects[: len(targets)].clone()
    for row, node in enumerate(targets):
        if node.kind != "head":
            units = parts.mlps[node.layer or 0].units
            activations[row] = units.activations[node.position, units.place(node.index or 0)]
    return activations


def _slopes(parts: Parts, pulled: Pulled, targets: Sequence[Node]) -> Float[Tensor, " target"]:
    slopes = torch.ones(len(targets), dtype=torch.float64)
    for row, node in enumerate(targets):
        if node.kind != "head":
            layer = node.layer or 0
            slopes[row] = pulled.units[layer][node.position, parts.mlps[layer].units.place(node.index or 0)]
    return slopes
