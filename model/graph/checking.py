"""Check of a graph: its nodes are ablated in the model, and the effects are compared with its predictions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution.logits import read_positions
from headlight.model.base.errors import InputError
from headlight.model.features import Dictionary
from headlight.model.graph.building import Aim, reading_of, taken_apart
from headlight.model.graph.graph import LEFT_OUT, Graph, Node
from headlight.model.graph.influence import Pruned
from headlight.model.graph.pulling import Followed, Parts, Pull, pull
from headlight.model.graph.sources import sources_of
from headlight.model.graph.without import FreezeToFirst, Without
from headlight.model.nn.hooks import NO_TAP, Chain, Tap
from headlight.model.runs.edits.interventions import abreast
from headlight.model.runs.host import Steps
from headlight.model.runs.run import Run

N_CHECKED = 20
AT_ONCE = 8  # ablations that run side by side, or fewer: of a layer's patterns, which are there whole, at most
CELLS = 2**26  # cells, 256 MB
CORRELATION = 0.8  # of single effects, in a graph that holds
FACTOR = 2.0  # by which the effect of all together may be off
REST = 0.5  # of the target's value: what is left out of a complete graph does no more than that
Way = Literal["frozen", "measured"]  # what an outcome has of the model


@dataclass(frozen=True)
class Outcome:
    """Effect of an ablation on the target (logits): predicted by the graph, and measured in the model.

    `frozen` is measured with patterns and norm scales frozen, `measured` without. `predicted` and `frozen` differ by
    the MLPs, which the graph linearizes around this run; `frozen` and `measured` by patterns and norm scales.
    """

    predicted: float
    frozen: float
    measured: float


@dataclass(frozen=True, eq=False)
class Check:
    """Effects of ablating nodes (places in the graph): each alone, all together, and all that was left out.

    Predicted is by the graph, where what is ablated writes nothing and all else is frozen. `value` is the target's
    own.
    """

    nodes: tuple[int, ...]
    each: tuple[Outcome, ...]
    together: Outcome
    rest: Outcome
    value: float

    def correlation(self, way: Way = "measured") -> float:
        """Pearson's correlation of predicted and measured effects over nodes; NaN for fewer than two."""
        if len(self.each) < 2:
            return float("nan")
        pairs = torch.tensor([[each.predicted, getattr(each, way)] for each in self.each], dtype=torch.float64)
        return float(torch.corrcoef(pairs.T)[0, 1])

    def holds(self, way: Way = "measured") -> bool:
        """Whether single effects correlate by `CORRELATION`, and that of all is the predicted one within `FACTOR`."""
        predicted, actual = self.together.predicted, getattr(self.together, way)
        agrees = predicted * actual > 0 and 1 / FACTOR <= actual / predicted <= FACTOR
        return agrees and (len(self.each) < 2 or self.correlation(way) >= CORRELATION)

    @property
    def is_complete(self) -> bool:
        """Whether the target without all that was left out is off by no more than `REST` of its value."""
        return abs(self.rest.measured - self.rest.predicted) <= REST * abs(self.value)


def can_ablate(node: Node) -> bool:
    """Whether a node is one that the model can be run without."""
    return node.kind in ("head", "neuron", "feature")


def top_nodes(graph: Graph, pruned: Pruned, most: int = N_CHECKED) -> tuple[int, ...]:
    """The most influential nodes of those that are kept and can be ablated, most influential first."""
    order = pruned.influence.argsort(descending=True).tolist()
    return tuple(place for place in order if pruned.nodes[place] and can_ablate(graph.nodes[place]))[:most]


def check_graph(
    run: Run, graph: Graph, nodes: Sequence[int], dictionaries: Mapping[int, Dictionary] | None = None
) -> Check:
    """Ablate these nodes in the model, and compare the effects with the graph's predictions.

    Raises:
        InputError: no nodes, or one that cannot be ablated.
    """
    if not nodes or not all(can_ablate(graph.nodes[place]) for place in nodes):
        raise InputError("Only heads' writes, neurons and features can be ablated; choose some of these nodes.")
    aim = Aim(graph.target.token, graph.target.distractor, graph.target.position)
    key = "graph checked", aim, graph.dictionary, graph.folded, graph.n_followed, tuple(nodes)
    return run.keep(key, lambda: _check(run, graph, aim, tuple(nodes), dictionaries))


@torch.inference_mode()
def _check(
    run: Run, graph: Graph, aim: Aim, places: tuple[int, ...], dictionaries: Mapping[int, Dictionary] | None
) -> Check:
    parts, nodes = taken_apart(run, aim.position, dictionaries), [graph.nodes[place] for place in places]
    rest = _followed(parts, graph.nodes[: graph.n_followed], graph.folded, but=True)
    chosen = [_followed(parts, some, False) for some in (*([node] for node in nodes), nodes)]
    taps = [_without(parts, each, dictionaries) for each in (*chosen, rest)]
    reading = reading_of(run, aim).pull
    frozen, measured = _measured(run, aim, reading, taps)
    left_out = [node.kind in LEFT_OUT for node in graph.nodes]
    predicted = [
        *(-float(graph.effects[place]) for place in places),
        -_together(parts, graph, reading, nodes),
        -float(graph.effects[left_out].sum()),
    ]
    *each, together, all_else = map(Outcome, predicted, frozen, measured)
    return Check(places, tuple(each), together, all_else, graph.target.value)


def _measured(run: Run, aim: Aim, reading: Pull, taps: Sequence[Tap]) -> tuple[list[float], list[float]]:
    """Change of the target with each of the taps: with patterns and scales frozen, and without."""
    steps, frozen, free = Steps(run.host, 2 * len(taps)), list[float](), list[float]()
    at_once = max(1, min(AT_ONCE, CELLS // (run.cfg.n_heads * len(run.tokens) ** 2) - 1))
    for start in range(0, len(taps), at_once):
        some = [NO_TAP, *taps[start : start + at_once]]  # the first is the unedited run, to which the others are frozen
        frozen_last = _last(run, aim, len(some), Chain(FreezeToFirst(), run.tap, abreast(some)))
        own, *changed = torch.einsum("npd,pd->n", frozen_last.double(), reading[read_positions(run, aim.position)])
        frozen += [float(each - own) for each in changed]
        steps.add(len(some) - 1)
        own, *changed = _target(run, aim, _last(run, aim, len(some), Chain(run.tap, abreast(some))))
        free += [float(each - own) for each in changed]
        steps.add(len(some) - 1)
    return frozen, free


def _last(run: Run, aim: Aim, n_variants: int, tap: Tap) -> Float[Tensor, "variant pos_read d_model"]:
    """The last stream of every variant where the target is read, all the same where no tap acts."""
    model, tokens = run.host.on_device(run.model), run.tokens[None].to(run.host.device)
    with run.host.turn():
        last = model.read_from(model(tokens, tap=tap, stop_at_layer=run.cfg.n_layers), aim.position).cpu()
    return last.expand(n_variants, -1, -1)


def _target(run: Run, aim: Aim, resid: Float[Tensor, "variant pos_read d_model"]) -> Float[Tensor, " variant"]:
    unembed = run.model.unembed
    logits = run.model.to_unembed(resid)[:, 0].double() @ unembed.W_U.detach().double() + unembed.b_U.detach().double()
    other = logits.mean(-1) if aim.distractor is None else logits[:, aim.distractor]
    return logits[:, aim.token] - other


def _together(parts: Parts, graph: Graph, reading: Tensor, nodes: Sequence[Node]) -> float:
    """Joint effect of nodes on the target, with each path counted once, by the last of the nodes on it."""
    all_nodes, n_stages = graph.nodes[: graph.n_followed], parts.linearized.n_stages
    sources = sources_of(parts, _followed(parts, all_nodes, graph.folded), graph.folded)
    others = _followed(parts, [node for node in all_nodes if node not in set(nodes)], graph.folded)
    effects = sources.by_node(sources.read_by(pull(parts, reading, n_stages, others), n_stages))
    return float(effects[[sources.places[node] for node in nodes]].sum())


def _followed(parts: Parts, nodes: Iterable[Node], folded: bool, but: bool = False) -> Followed:
    """These parts, or with `but` all others; without heads where these are folded into the edges."""
    heads = [torch.full(each.pattern.shape[:2], but) for each in parts.heads]
    units = [torch.full(each.units.activations.shape, but) for each in parts.mlps]
    for node in nodes:
        layer, index = node.layer or 0, node.index or 0
        if node.kind == "head":
            heads[layer][index, node.position] = not but
        elif node.kind != "logit":
            units[layer][node.position, parts.mlps[layer].units.place(index)] = not but
    return Followed(None if folded else heads, units)


def _without(parts: Parts, chosen: Followed, dictionaries: Mapping[int, Dictionary] | None) -> Without:
    heads = {layer: cells.T for layer, cells in enumerate(chosen.heads or ()) if cells.any()}
    units = {}
    for layer, cells in enumerate(chosen.units or ()):
        if cells.any():
            ids, n_units = parts.mlps[layer].units.ids, None if dictionaries is None else dictionaries[layer].n_features
            units[layer] = torch.zeros(len(cells), n_units or len(ids), dtype=torch.bool)
            units[layer][:, ids] = cells
    return Without(heads, units, dictionaries)
