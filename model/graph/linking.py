"""The edges of a graph: what each node gives to each node that is followed."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.graph.graph import Node
from headlight.model.graph.pulling import Followed, Parts, Pull, Pulled, pull
from headlight.model.graph.sources import Sources

AT_ONCE = 32  # targets that are pulled back through the heads together
Edges = Float[Tensor, "followed node"]


def edges_of(parts: Parts, sources: Sources, pulled: Pulled, reading: Pull, position: int, folded: bool) -> Edges:
    """What each node gives to each that is followed, and to the target that reads the last stream, the last row.

    With heads as nodes an edge is one step: to a neuron or feature from its own position, to a head's write from any
    that it attends to. With `folded` it is all ways through heads, of however many layers.
    """
    nodes = [node for node in sources.nodes if node.is_followed]
    directions = [_direction(parts, pulled, node) for node in nodes] + [reading[position]]
    limits = [_limit(parts, node) for node in nodes] + [parts.held.n_stages]
    if folded:
        positions = [*(node.position for node in nodes), position]
        return _through_all_heads(parts, sources, directions, positions, limits)
    products = torch.stack(directions) @ sources.vectors.T
    ways = torch.stack([*(_ways(parts, sources, node) for node in nodes), (sources.positions == position).double()])
    before = sources.stages < torch.tensor(limits)[:, None]
    return sources.by_node(products * ways * before)


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


def _ways(parts: Parts, sources: Sources, node: Node) -> Float[Tensor, " row"]:
    """How much of what was written at each vector's position a node reads."""
    if node.kind != "head":
        return (sources.positions == node.position).double()
    heads = parts.heads[node.layer or 0]
    return (heads.pattern[node.index or 0, node.position] / heads.read_scales)[sources.positions]


def _through_all_heads(
    parts: Parts, sources: Sources, directions: Sequence[Tensor], positions: Sequence[int], limits: Sequence[int]
) -> Edges:
    found = torch.zeros(len(directions), len(sources.nodes), dtype=torch.float64)
    for limit in sorted(set(limits)):
        rows = [row for row, own in enumerate(limits) if own == limit]
        for some in (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)):
            reading = torch.zeros(len(some), parts.held.n_pos, parts.held.run.cfg.d_model, dtype=torch.float64)
            for slot, row in enumerate(some):
                reading[slot, positions[row]] = directions[row]
            pulled = pull(parts, reading, limit, Followed(no_units=True))
            found[some] = sources.by_node(sources.read_by(pulled, limit))
    return found
