"""Influence of a graph's nodes on its target, and pruning by influence.

Source: Ameisen et al. 2025, "Circuit Tracing", for influence and pruning; circuit-tracer's `prune_graph` and
`compute_graph_scores` for the order of the steps and the two scores.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.graph.graph import UNEXPLAINED, Graph

NODES, EDGES = 0.8, 0.98  # the shares of influence that circuit-tracer keeps


@dataclass(frozen=True, eq=False)
class Pruned:
    """A pruned graph: kept nodes [node] and edges [followed, node], and their share of the influence.

    `influence` [node] is that of every node in the whole graph. `node_share` is the share of all nodes' influence that
    the kept ones have, `edge_share` the share of what passes through the edges between them.
    """

    nodes: Bool[Tensor, " node"]
    edges: Bool[Tensor, "followed node"]
    influence: Float[Tensor, " node"]
    node_share: float
    edge_share: float


@dataclass(frozen=True)
class Scores:
    """Scores of a graph: the shares that it explains, from 0 to 1.

    `replacement` is the share of the influence where ways begin that tokens have, and not errors or what was left out;
    `completeness` the share of nodes' inputs, by the nodes' influence, that do not come from the latter, where what has
    no inputs counts as explained.

    Source: circuit-tracer's `compute_graph_scores`.
    """

    replacement: float
    completeness: float


def normalised(edges: Float[Tensor, "followed node"]) -> Float[Tensor, "followed node"]:
    """The size of each edge as a share of all edges into the same node; biases do not count."""
    sizes = edges.abs()
    totals = sizes.sum(1, keepdim=True)
    return sizes / torch.where(totals > 0, totals, 1.0)


def influence(edges: Float[Tensor, "followed node"], weights: Float[Tensor, " followed"]) -> Float[Tensor, " node"]:
    """Each node's influence on the targets: over all ways to these the product of normalised edges, summed.

    `weights` are those of the targets. With A the normalised edges it is the targets' row of (I - A)^-1 - I.
    """
    shares = normalised(edges)
    return arriving(shares[:, : len(edges)], weights.to(shares)) @ shares


def feeding_order(edges: Float[Tensor, "followed followed"]) -> list[int]:
    """The followed nodes so that each comes behind those that feed it; without those in a circle, or fed by one."""
    targets, sources = edges.nonzero().T
    targets_of, n_inputs = _grouped(targets, sources, len(edges)), targets.bincount(minlength=len(edges)).tolist()
    order = [place for place, n in enumerate(n_inputs) if n == 0]
    for source in order:  # which grows meanwhile
        for target in targets_of[source]:
            n_inputs[target] -= 1
            if n_inputs[target] == 0:
                order.append(target)
    return order


def _grouped(values: Int[Tensor, " n"], keys: Int[Tensor, " n"], n_keys: int) -> list[list[int]]:
    """The values of each key."""
    ordered = values[keys.argsort(stable=True)]
    return [part.tolist() for part in ordered.split(keys.bincount(minlength=n_keys).tolist())]


def arriving(
    edges: Float[Tensor, "followed followed"], start: Float[Tensor, " followed"]
) -> Float[Tensor, " followed"]:
    """Total at each followed node when `start` is propagated back along all edges: x = start + x @ edges.

    Edges lead in no circle, so that each node is complete once those that it feeds are.
    """
    totals = start.clone()
    for target in reversed(feeding_order(edges)):
        totals += totals[target] * edges[target]
    return totals


def target_weights(graph: Graph) -> Float[Tensor, " followed"]:
    """1 for the target's logit, or in a graph of several logits the probability of each; 0 for all else."""
    logits = [node.kind == "logit" for node in graph.nodes[: graph.n_followed]]
    weights = torch.tensor(logits, dtype=torch.float64)
    return weights if graph.logit_probabilities is None else weights * graph.logit_probabilities


def prune(graph: Graph, nodes: float = NODES, edges: float = EDGES) -> Pruned:
    """The fewest nodes and edges that have these shares of the influence; tokens and logits always stay.

    Then nodes that nothing leads to the target from, and followed ones that nothing leads to, go as well.

    Raises:
        InputError: a share that is none.
    """
    for name, share in (("nodes", nodes), ("edges", edges)):
        if not 0 < share <= 1:
            raise InputError(f"The share of {name}' influence to keep is {share}; it has to be above 0 and at most 1.")
    weights = target_weights(graph)
    influences = influence(graph.edges, weights)
    ends = torch.tensor([node.kind in ("token", "logit") for node in graph.nodes])
    kept = _largest(influences, nodes) | ends
    among = graph.edges * kept * kept[: graph.n_followed, None]
    passing = normalised(among) * (influence(among, weights)[: graph.n_followed] + weights)[:, None]
    kept_edges = _largest(passing.flatten(), edges).view_as(passing) & (passing > 0)
    kept, kept_edges = _connected(graph, kept, kept_edges, ends)
    return Pruned(
        kept,
        kept_edges,
        influences,
        _share(influences[kept].sum(), influences.sum()),
        _share(passing[kept_edges].sum(), passing.sum()),
    )


def _largest(values: Float[Tensor, " n"], share: float) -> Bool[Tensor, " n"]:
    """The largest values that together are at least this share of all; never fewer than one."""
    kept = torch.zeros(len(values), dtype=torch.bool)
    places = values.nonzero().flatten()  # of the edges of a large graph hardly any is there
    if not len(places):
        kept[:1] = True
        return kept
    ordered, order = values[places].sort(descending=True)
    # A sum in another order may fall short of the whole by a rounding, which would keep what is zero.
    reached = ordered.cumsum(0) >= share * ordered.sum() * (1 - 1e-12)
    kept[places[order[: int(reached.nonzero()[0]) + 1]]] = True
    return kept


def _connected(graph: Graph, nodes: Tensor, edges: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and edges without those on no path to a target, and without followed nodes that nothing feeds.

    With a node its edges go, which may leave others without any; each node goes once.
    """
    edges = edges & nodes & nodes[: graph.n_followed, None]
    targets, sources = edges.nonzero().T
    targets_of, sources_of = _grouped(targets, sources, len(nodes)), _grouped(sources, targets, len(nodes))
    n_targets, n_sources = [len(each) for each in targets_of], [len(each) for each in sources_of]
    n_sources[graph.n_followed :] = [1] * (len(nodes) - graph.n_followed)  # they need none
    may_go = (nodes & ~ends).tolist()
    going = [place for place, may in enumerate(may_go) if may and not (n_targets[place] and n_sources[place])]
    for place in going:
        may_go[place] = False
    for place in going:  # which grows meanwhile
        for others, numbers in ((targets_of[place], n_sources), (sources_of[place], n_targets)):
            for other in others:
                numbers[other] -= 1
                if may_go[other] and numbers[other] == 0:
                    may_go[other] = False
                    going.append(other)
    nodes = nodes.clone()
    nodes[going] = False
    return nodes, edges & nodes & nodes[: graph.n_followed, None]


def _share(part: Tensor, whole: Tensor) -> float:
    return float(part / whole) if float(whole) > 0 else 1.0


def graph_scores(graph: Graph) -> Scores:
    """Shares of the whole graph explained by tokens, heads and units, rather than by errors or omitted nodes."""
    weights, shares = target_weights(graph), normalised(graph.edges)
    influences = influence(graph.edges, weights)
    tokens = torch.tensor([node.kind == "token" for node in graph.nodes])
    unexplained = torch.tensor([node.kind in UNEXPLAINED for node in graph.nodes])
    begins = influences[tokens].sum() + influences[unexplained].sum()
    influences[: graph.n_followed] += weights
    explained = torch.ones_like(influences)
    explained[: graph.n_followed] -= shares[:, unexplained].sum(1)
    return Scores(_share(influences[tokens].sum(), begins), _share((explained * influences).sum(), influences.sum()))
