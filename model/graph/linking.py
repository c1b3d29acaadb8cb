"""Edges of a graph: the direct effect of each node on each followed node."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.graph.graph import Node
from headlight.model.graph.pulling import Followed, Parts, Pulled, pull
from headlight.model.graph.sources import Sources

AT_ONCE = 32  # targets that are pulled back through the heads together
Edges = Float[Tensor, "followed node"]


def edges_of(
    parts: Parts,
    sources: Sources,
    pulled: Pulled,
    reading: Float[Tensor, " d_model"],
    weights: Float[Tensor, " pos"],
    folded: bool,
) -> Edges:
    """The edges from every node to each followed node and, in the last row, to the target.

    The target reads that direction at each position with these weights.

    With heads as nodes an edge is one step: to a neuron or feature from its own position, to a head's write from any
    that it attends to. With `folded` it is all ways through heads, of however many layers. Either goes through skip
    connections as well, which are no nodes, and through norms of the stream itself.
    """
    nodes = [node for node in sources.nodes if node.is_followed]
    directions = torch.stack([*(_direction(parts, pulled, node) for node in nodes), reading])
    limits = [_limit(parts, node) for node in nodes] + [parts.linearized.n_stages]
    ways = torch.stack([*(_ways(parts, node) for node in nodes), weights])
    if folded or parts.linearized.norms or any(mlp.skip for mlp in parts.mlps):
        return _through_all(parts, sources, directions, ways, limits, Followed(no_heads=not folded, no_units=True))
    products = directions @ sources.vectors.T
    before = sources.stages < torch.tensor(limits)[:, None]
    return sources.by_node(products * ways[:, sources.positions] * before)


def _direction(parts: Parts, pulled: Pulled, node: Node) -> Float[Tensor, " d_model"]:
    """The direction of the stream that a node reads; a head's is that in which its write matters to the target."""
    layer, index = node.layer or 0, node.index or 0
    if node.kind == "head":
        return parts.heads[layer].W_V[index] @ pulled.values[layer][index, node.position]
    units = parts.mlps[layer].units
    unit = units.place(index)
    return units.gates[node.position, unit] * units.reads[unit] / units.read_scales[node.position]


def _limit(parts: Parts, node: Node) -> int:
    layer = node.layer or 0
    return 2 * layer if node.kind == "head" else parts.mlps[layer].units.limit


def _ways(parts: Parts, node: Node) -> Float[Tensor, " pos"]:
    """The weight with which a node reads the writes at each position."""
    if node.kind != "head":
        return _only(parts, node.position)
    heads = parts.heads[node.layer or 0]
    return heads.pattern[node.index or 0, node.position] / heads.read_scales


def _only(parts: Parts, position: int) -> Float[Tensor, " pos"]:
    return torch.nn.functional.one_hot(torch.tensor(position), parts.linearized.n_pos).double()


def _through_all(
    parts: Parts,
    sources: Sources,
    directions: Float[Tensor, "target d_model"],
    ways: Float[Tensor, "target pos"],
    limits: Sequence[int],
    followed: Followed,
) -> Edges:
    """The edges by all ways that are followed, of however many steps."""
    edges = torch.zeros(len(directions), len(sources.nodes), dtype=torch.float64)
    for limit in sorted(set(limits)):
        rows = [row for row, own in enumerate(limits) if own == limit]
        for some in (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)):
            pulled = pull(parts, ways[some][..., None] * directions[some][:, None], limit, followed)
            edges[some] = sources.by_node(sources.read_by(pulled, limit))
    return edges
