"""Which edges a circuit has: the first n by score, those found from the logits up, or those above a share."""

import heapq
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.running import Edges
from headlight.model.circuits.wiring import Wiring

EdgeMask = Bool[Tensor, "receiver sender"]
Selection = Literal["top", "greedy"]


def select_edges(wires: Wiring, scores: Edges, n: int, selection: Selection = "top", absolute: bool = True) -> EdgeMask:
    """The circuit of n edges, pruned of what lies on no way from the embeddings to the logits.

    Args:
        wires: the model's edges.
        scores: their scores.
        n: how many edges are taken, before pruning.
        selection: "top" takes the largest of all, "greedy" the largest of those that lead to what is in already,
            beginning at the logits.
        absolute: whether a score counts by its size; otherwise the most negative come last.

    Raises:
        InputError: a number of edges that there is not.
    """
    _check_size(wires, n)
    sizes = scores.abs() if absolute else scores
    chosen = _greedy(wires, sizes, n) if selection == "greedy" else top_edges(wires, sizes, n)
    return prune(wires, chosen)


def top_edges(
    wires: Wiring, sizes: Float[Tensor, "*set receiver sender"], n: int
) -> Bool[Tensor, "*set receiver sender"]:
    """The n largest of each set of scores."""
    flat = sizes.masked_fill(~wires.before.to(sizes.device), -torch.inf).flatten(-2)
    order = flat.argsort(dim=-1, descending=True, stable=True)[..., :n]
    chosen = torch.zeros_like(flat, dtype=torch.bool).scatter_(-1, order, True)
    return chosen.unflatten(-1, wires.before.shape) & wires.before


def _greedy(wires: Wiring, sizes: Edges, n: int) -> EdgeMask:
    """The largest edges into what has been reached, from the logits up; fewer than n where no more can be reached."""
    chosen = torch.zeros_like(wires.before)
    waiting: list[tuple[float, int, int]] = []
    entered = set[int]()

    def enter(rows: list[int]) -> None:
        for row in set(rows) - entered:
            entered.add(row)
            for sender in wires.before[row].nonzero().flatten().tolist():
                heapq.heappush(waiting, (-float(sizes[row, sender]), row, sender))

    enter(wires.rows[None, False])
    while waiting and int(chosen.sum()) < n:
        _, row, sender = heapq.heappop(waiting)
        chosen[row, sender] = True
        enter(wires.onward[:, sender].nonzero().flatten().tolist())
    return chosen


def above_share(wires: Wiring, scores: Edges, least: float, most: int | None = None) -> EdgeMask:
    """The edges whose score is at least this share of the largest, by size, at most so many of them, pruned.

    Raises:
        InputError: a share that is none.
    """
    if not 0 < least <= 1:
        raise InputError(f"The least score is {least} of the largest; it has to be above 0 and at most 1.")
    sizes = scores.abs()
    large = (sizes >= least * sizes.max()) & (sizes > 0) & wires.before
    return prune(wires, large if most is None else large & top_edges(wires, sizes, most))


def prune(wires: Wiring, edges: Bool[Tensor, "*set receiver sender"]) -> Bool[Tensor, "*set receiver sender"]:
    """Those edges that lie on a way from the embeddings to the logits.

    A way enters a head by its query, key or value; a head that is only looked at, and of which no value comes in,
    still writes, by its biases and by what it mixes in both runs.
    """
    is_embeddings = torch.tensor([sender.layer is None for sender in wires.senders])
    is_logits = torch.tensor([receiver.layer is None for receiver in wires.receivers])
    while True:
        reached = (edges.any(-1, keepdim=True) & wires.onward).any(-2) | is_embeddings
        leading = (edges.any(-2).unsqueeze(-2) & wires.onward).any(-1) | is_logits
        left = edges & reached.unsqueeze(-2) & leading.unsqueeze(-1)
        if torch.equal(left, edges):
            return edges
        edges = left


def strongest(scores: Edges, edges: EdgeMask) -> list[tuple[int, int]]:
    """The edges (receiver, sender) that are kept, those with the largest scores first."""
    kept: Float[Tensor, "receiver sender"] = scores.abs() * edges
    order = kept.flatten().argsort(descending=True, stable=True)[: int(edges.sum())]
    return [(int(at) // scores.shape[1], int(at) % scores.shape[1]) for at in order]


def _check_size(wires: Wiring, n: int) -> None:
    if not 0 <= n <= wires.n_edges:
        raise InputError(f"A circuit of {n:,} edges was asked for; the model has 0 to {wires.n_edges:,}.")
