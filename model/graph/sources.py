"""All writes to the stream as nodes of a graph: their vectors, positions and stages."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.graph.graph import Kind, Node
from headlight.model.graph.linearized_run import LinearizedRun, Stream
from headlight.model.graph.pulling import Followed, Parts, Pulled
from headlight.model.graph.units import Units

Rows = Float[Tensor, "row d_model"]
ROUNDED = 1e-4  # of a write's length: what is left of float32 sums that an edit has not changed


@dataclass(frozen=True, eq=False)
class Written:
    """One node's writes at one stage."""

    node: Node
    stage: int
    vector: Float[Tensor, " d_model"]


@dataclass(frozen=True, eq=False)
class Sources:
    """All written vectors and the nodes that write them: followed nodes first."""

    written: tuple[Written, ...]
    nodes: tuple[Node, ...]

    @cached_property
    def places(self) -> dict[Node, int]:
        """Index of each node among the nodes."""
        return {node: place for place, node in enumerate(self.nodes)}

    @cached_property
    def owners(self) -> Int[Tensor, " row"]:
        """The node of each vector, by its place."""
        return torch.tensor([self.places[each.node] for each in self.written])

    @cached_property
    def stages(self) -> Int[Tensor, " row"]:
        """The stage of each vector."""
        return torch.tensor([each.stage for each in self.written])

    @cached_property
    def positions(self) -> Int[Tensor, " row"]:
        """The position of each vector."""
        return torch.tensor([each.node.position for each in self.written])

    @cached_property
    def vectors(self) -> Rows:
        """The vectors."""
        return torch.stack([each.vector for each in self.written])

    def by_node(self, values: Float[Tensor, "*target row"]) -> Float[Tensor, "*target node"]:
        """Numbers of each vector, added up node by node."""
        totals = torch.zeros(*values.shape[:-1], len(self.nodes), dtype=values.dtype)
        return totals.index_add_(-1, self.owners, values)

    def read_by(self, pulled: Pulled, limit: int) -> Float[Tensor, "*target row"]:
        """Effect of each vector written before a stage on a target that was pulled through; 0 for the rest."""
        shape = next(iter(pulled.at.values())).shape[:-2]
        products = torch.zeros(*shape, len(self.written), dtype=torch.float64)
        for stage in range(-1, limit):
            rows = (self.stages == stage).nonzero().flatten()
            if len(rows):
                pulls = pulled.at[stage][..., self.positions[rows], :]
                products[..., rows] = torch.einsum("...rd,rd->...r", pulls, self.vectors[rows])
        return products


def sources_of(parts: Parts, followed: Followed, folded: bool) -> Sources:
    """The nodes of a graph of which these heads and units are followed."""
    written = (*_tokens(parts.linearized), *_all_layers(parts, followed, folded))
    nodes = dict.fromkeys(each.node for each in written)
    first = [node for node in nodes if node.is_followed]
    return Sources(written, (*first, *(node for node in nodes if not node.is_followed)))


def _tokens(linearized: LinearizedRun) -> Iterator[Written]:
    tokens = linearized.run.tokens[: linearized.n_pos].tolist()
    for position, (token, vector) in enumerate(zip(tokens, linearized.streams[0], strict=True)):
        yield Written(Node("token", position, None, token), -1, vector)


def _all_layers(parts: Parts, followed: Followed, folded: bool) -> Iterator[Written]:
    linearized, cfg = parts.linearized, parts.linearized.run.cfg
    for layer in range(cfg.n_layers):
        yield from _attention(parts, layer, followed, folded)
        if linearized.run.edits_stream:
            changed = linearized.mid(layer) - linearized.streams[layer] - linearized.written("attn_out", layer)
            yield from _rest("edits", layer, 2 * layer, changed)
        if parts.mlps:
            yield from _mlp(parts, layer, followed)
        if linearized.run.edits_stream:
            added = linearized.written("mlp_out", layer) if parts.mlps else 0.0
            yield from _rest(
                "edits", layer, 2 * layer + 1, linearized.streams[layer + 1] - linearized.mid(layer) - added
            )


def _attention(parts: Parts, layer: int, followed: Followed, folded: bool) -> Iterator[Written]:
    heads, linearized = parts.heads[layer], parts.linearized
    left_out = linearized.written("attn_out", layer) - heads.bias
    if folded and not heads.constant:
        return
    kept = followed.of_heads(layer, heads)
    for head, position in kept.nonzero().tolist():
        yield Written(Node("head", position, layer, head), 2 * layer, heads.writes[head, position])
    left_out = left_out - torch.einsum("hp,hpd->pd", kept, heads.writes)
    left_out[(kept == 1).all(0)] = 0.0  # what is left there is rounding alone
    yield from _rest("heads left out", layer, 2 * layer, left_out)


def _mlp(parts: Parts, layer: int, followed: Followed) -> Iterator[Written]:
    """Writes of a layer's units to all places, and of the layer's other parts to their own."""
    units = parts.mlps[layer].units
    kept = _kept(parts, layer, followed)
    for position, unit in kept.nonzero().tolist():
        node = Node(units.kind, position, layer, int(units.ids[unit]))
        for place in units.writes:
            yield Written(node, 2 * place + 1, _vectors(units, place, position)[unit])
    skip = parts.mlps[layer].skip
    left_out = torch.zeros_like(parts.mlps[layer].bias)
    own = left_out.clone() if skip is None else skip.writes.clone()
    for earlier in range(layer + 1):
        there = parts.mlps[earlier].units
        if layer in there.writes:
            own += _sum(there, layer, torch.ones_like(_kept(parts, earlier, followed)))
            left_out += _sum(there, layer, ~_kept(parts, earlier, followed))
    kind: Kind = "neurons left out" if units.kind == "neuron" else "features left out"
    yield from _rest(kind, layer, 2 * layer + 1, left_out)
    written = parts.linearized.written("mlp_out", layer)
    error = written - parts.mlps[layer].bias - own
    if units.kind == "neuron":  # neurons leave nothing but rounding, and what edits have put in the MLP's place
        error[error.norm(dim=-1) < ROUNDED * (1 + written.norm(dim=-1))] = 0.0
    yield from _rest("error" if units.kind == "feature" else "edits", layer, 2 * layer + 1, error)


def _kept(parts: Parts, layer: int, followed: Followed) -> Bool[Tensor, "pos unit"]:
    units = parts.mlps[layer].units
    return units.activations != 0 if followed.units is None else followed.units[layer]


def _vectors(units: Units, place: int, position: int) -> Rows:
    scaled = units.activations[position] / units.write_scales[place][position]
    return scaled[:, None] * units.writes[place]


def _sum(units: Units, place: int, kept: Tensor) -> Stream:
    return (units.activations * kept) @ units.writes[place] / units.write_scales[place][:, None]


def _rest(kind: Kind, layer: int, stage: int, vectors: Stream) -> Iterator[Written]:
    for position in vectors.any(-1).nonzero().flatten().tolist():
        yield Written(Node(kind, position, layer), stage, vectors[position])
