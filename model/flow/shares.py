"""Each node's contributions from the nodes below it, as shares of the node.

A node is the stream at one position, after a layer's attention (mid) or after its MLP (post). It is a sum, and a
summand's importance is how much nearer it brings the sum:

    proximity(x_j, y) = max(0, ‖y‖₁ − ‖y − x_j‖₁),    share_j = proximity(x_j, y) / Σ_i proximity(x_i, y).

Into a mid node go the stream before the layer, what every head takes from every token (weight times value through W_O,
the value with its own bias), and b_O; into a post node the mid node and what the MLP made of it. The rest, what is in
the node beside these, is a summand too: it is what edits have changed, and zero where there are none. The shares of a
node sum to 1. Where no summand brings the sum nearer, because they cancel, shares are by L1 length instead; where
all are zero, the first, which is the stream before, has all.

Source: Ferrando and Voita 2024, "Information Flow Routes: Automatically Interpreting Language Models at Scale".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import Measure

Vectors = Float[Tensor, "query d_model"]
Kind = Literal["residual", "attention", "mlp"]
ROUNDING = 1e-5  # of a node's L1 length: what float32 sums of a few thousand summands can be off by


@dataclass(frozen=True, eq=False)
class Summands:
    """Terms that a layer adds at some positions (queries), and their total.

    `mid` is the stream after attention and `post` that after the MLP; a layer without MLP has neither `mlp_out` nor
    `post`. Where attention and MLP are added to one stream, `mid` is that with both, and there is no `post`. `between`
    is what the MLP's output is added to, if that is not `mid` itself. `v` is every head's own, or its group's; weights
    and W_O are those of the writes, with what a norm behind the heads makes of them, and `b_O` likewise.
    """

    pre: Vectors
    weights: Float[Tensor, "head query key"]
    v: Float[Tensor, "key head d_value"]
    W_O: Float[Tensor, "head d_value d_model"]
    b_O: Float[Tensor, "*query d_model"]
    mid: Vectors
    mlp_out: Vectors | None = None
    post: Vectors | None = None
    between: Vectors | None = None


@dataclass(frozen=True, eq=False)
class MidShares:
    """Shares of mid nodes: residual [query], edges [query, head, key], bias [query] and rest [query] sum to 1.

    Where the MLP is added beside attention, its share [query] is one of them.
    """

    residual: Measure
    edges: Measure
    bias: Measure
    rest: Measure
    mlp: Measure | None = None


@dataclass(frozen=True, eq=False)
class PostShares:
    """Shares of post nodes: residual, mlp and rest [query] sum to 1."""

    residual: Measure
    mlp: Measure
    rest: Measure


def shares(summands: Float[Tensor, "summand d_model"], total: Float[Tensor, " d_model"]) -> Measure:
    """Each summand's share of their sum."""
    return _measure(_normalised(_proximity(summands, total), _length(summands), _length(total)), "summand")


def mid_shares(layer: Summands) -> MidShares:
    """Shares of the stream after attention at each query, from itself, from every token by every head, and from b_O.

    One head's writes [key, d_model] are in memory at a time, and as much again to compare them with one query's sum:
    393 kB at 64 tokens of GPT-2's shape, where all edges' writes at once would be 151 MB a layer.
    """
    near, far = torch.zeros_like(layer.weights), torch.zeros_like(layer.weights)
    beside = None if layer.post is not None else layer.mlp_out
    summed = layer.pre + layer.b_O if beside is None else layer.pre + layer.b_O + beside
    seen = [1 + max(row.nonzero().flatten().tolist(), default=-1) for row in layer.weights.abs().amax(0)]
    for head, weights in enumerate(layer.weights):
        writes = layer.v[:, head] @ layer.W_O[head]
        torch.mul(weights.abs(), _length(writes), out=far[head])
        for query, last in enumerate(seen):
            near[head, query, :last] = _proximity(writes[:last], layer.mid[query], weights[query, :last])
        summed = summed + weights @ writes
    own = [] if beside is None else [beside]
    constants = torch.stack([layer.pre, layer.b_O.expand_as(layer.pre), _rest(layer.mid, summed), *own])
    nearness, lengths = (
        torch.cat([of_constants, of_edges.transpose(0, 1).flatten(1)], dim=1)
        for of_constants, of_edges in ((_proximities(constants, layer.mid), near), (_length(constants).T, far))
    )
    shares = _normalised(nearness, lengths, _length(layer.mid))
    edges = shares[:, len(constants) :].unflatten(1, (layer.weights.shape[0], -1))
    residual, bias, rest, *mlp = (_measure(shares[:, column], "query") for column in range(len(constants)))
    return MidShares(residual, _measure(edges, "query", "head", "key"), bias, rest, *mlp)


def post_shares(layer: Summands) -> PostShares:
    """Shares of the stream after the MLP, from the stream before it and from the MLP's output."""
    assert layer.mlp_out is not None
    assert layer.post is not None
    before = layer.mid if layer.between is None else layer.between
    rest = _rest(layer.post, before + layer.mlp_out)
    summands = torch.stack([before, layer.mlp_out, rest])
    shares = _normalised(_proximities(summands, layer.post), _length(summands).T, _length(layer.post))
    return PostShares(*(_measure(shares[:, column], "query") for column in range(3)))


def _proximity(
    summands: Float[Tensor, "summand d_model"],
    total: Float[Tensor, " d_model"],
    weights: Float[Tensor, " summand"] | None = None,
) -> Float[Tensor, " summand"]:
    """Decrease of the L1 distance to the total by each summand times its weight, at least 0.

    Entries are compared before they are added up: the difference of two long norms would round away short summands.
    """
    missing = total - summands if weights is None else torch.addcmul(total, weights[:, None], summands, value=-1)
    return torch.sub(total.abs(), missing.abs_(), out=missing).sum(-1).clamp_(min=0)


def _proximities(summands: Float[Tensor, "summand query d_model"], totals: Vectors) -> Float[Tensor, "query summand"]:
    return torch.stack([_proximity(at, total) for at, total in zip(summands.unbind(1), totals, strict=True)])


def _length(vectors: Float[Tensor, "*lead d_model"]) -> Float[Tensor, "*lead"]:
    return torch.linalg.vector_norm(vectors, ord=1, dim=-1)


def _rest(total: Vectors, summed: Vectors) -> Vectors:
    """The total minus the sum of the terms; 0 where that is no more than rounding."""
    rest = total - summed
    return rest.masked_fill((_length(rest) <= ROUNDING * _length(total))[..., None], 0.0)


def _normalised(
    near: Float[Tensor, "*lead summand"], lengths: Float[Tensor, "*lead summand"], of_total: Float[Tensor, "*lead"]
) -> Float[Tensor, "*lead summand"]:
    """Proximities over their sum; lengths over theirs where no summand is near; all to the first where none is long."""
    first = torch.zeros_like(near)
    first[..., 0] = 1
    counted = torch.where(lengths.sum(-1, keepdim=True) > 0, lengths, first)
    counted = torch.where(near.sum(-1, keepdim=True) > ROUNDING * of_total[..., None], near, counted)
    return counted / counted.sum(-1, keepdim=True)


def _measure(values: Tensor, *axes: str) -> Measure:
    return Measure("share", "share", axes, values)


Heads = tuple[tuple[int, float], ...]
Taken = tuple[Kind, int, float, Heads]  # a kind, the position that is taken from, the share, and its heads' shares


class Incoming(NamedTuple):
    """All inputs of a node: its edges from the nodes below it, its bias and rest; they sum to 1."""

    taken: tuple[Taken, ...]
    bias: float
    rest: float


def into_post(layer: Summands, positions: list[int]) -> dict[int, Incoming]:
    """Inputs of the nodes after the MLP, by position."""
    shares = post_shares(layer)
    rows = zip(positions, *(each.values.tolist() for each in (shares.residual, shares.mlp, shares.rest)), strict=True)
    return {
        at: Incoming((("residual", at, of_stream, ()), ("mlp", at, of_mlp, ())), 0.0, rest)
        for at, of_stream, of_mlp, rest in rows
    }


def into_mid(layer: Summands, positions: list[int]) -> dict[int, Incoming]:
    """Inputs of the nodes after attention, by position."""
    shares = mid_shares(layer)
    rows = zip(positions, *(each.values.tolist() for each in (shares.residual, shares.bias, shares.rest)), strict=True)
    beside = [None] * len(positions) if shares.mlp is None else shares.mlp.values.tolist()
    return {
        at: Incoming((("residual", at, share, ()), *_by_mlp(at, mlp), *_attended(edges)), bias, rest)
        for (at, share, bias, rest), mlp, edges in zip(rows, beside, shares.edges.values, strict=True)
    }


def _by_mlp(position: int, share: float | None) -> tuple[Taken, ...]:
    return () if share is None else (("mlp", position, share, ()),)


def _attended(edges: Float[Tensor, "head key"]) -> Iterator[Taken]:
    """One edge a key that any head takes from."""
    ordered, heads = (each.T.tolist() for each in edges.sort(dim=0, descending=True, stable=True))
    for key, share in enumerate(edges.sum(0).tolist()):
        yield "attention", key, share, tuple(zip(heads[key], ordered[key], strict=True))
