"""Precomputed facts on a batch's tokens for sums over the cells of its patterns, shared by all layers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.corpus.sequences import Batch

QUERIES = 32  # taken at a time of a causal pattern, which see about as many keys
CACHED = 2**17  # weights that stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Cells:
    """Places in the patterns of a batch, row after row, and how many each row has."""

    row: Int[Tensor, " cell"]
    query: Int[Tensor, " cell"]
    key: Int[Tensor, " cell"]
    counts: Int[Tensor, " batch"]


@dataclass(frozen=True, eq=False)
class Facts:
    """A batch's cells that figures add up, and how many queries of each row have any.

    `copies` are keys that hold the query's token before it, `after_copies` the keys behind these, the query itself
    among them. `marks` are the tokens that are punctuation. Queries count from each row's first real token.
    """

    copies: Cells
    after_copies: Cells
    n_repeats: Int[Tensor, " batch"]
    marks: Bool[Tensor, "batch pos"]
    n_after_marks: Int[Tensor, " batch"]


def facts(batch: Batch, is_mark: Callable[[int], bool], device: torch.device) -> Facts:
    """Precompute the facts on a batch's tokens; the cells are on the patterns' device."""
    n_pos = batch.tokens.shape[1]
    earlier = torch.ones(n_pos, n_pos, dtype=torch.bool).tril(-1)
    equal = (batch.tokens[:, :, None] == batch.tokens[:, None]) & earlier & batch.real[:, :, None]
    row, query, key = (each.to(device) for each in equal.nonzero(as_tuple=True))
    counts = equal.sum((-2, -1)).to(device)
    marks = torch.zeros(batch.tokens.shape, dtype=torch.bool)
    for each, sequence in zip(marks, batch.sequences, strict=True):
        each[: len(sequence.tokens)] = torch.tensor([is_mark(token) for token in sequence.tokens])
    first = torch.where(marks.any(-1), marks.int().argmax(-1), n_pos)
    return Facts(
        copies=Cells(row, query, key, counts),
        after_copies=Cells(row, query, key + 1, counts),
        n_repeats=equal.any(-1).sum(-1),
        marks=marks,
        n_after_marks=(batch.lengths - 1 - first).clamp(min=0),
    )


def by_distance(pattern: Float[Tensor, "batch head pos pos"], causal: bool) -> Float[Tensor, "batch head distance"]:
    """Weight at each distance in tokens, over all queries: the sums of a pattern's diagonals.

    In a causal pattern nothing lies above the diagonal, so that the rows of a view in which each row of the pattern is
    moved on by one more place run over zeros where they leave the pattern's own row: no weight is copied.
    """
    if not causal:
        folded = pattern.tril() + pattern.triu(1).transpose(-1, -2)
        return by_distance(folded, causal=True)
    pattern, n_pos = pattern.contiguous(), pattern.shape[-1]
    batch, head, query, key = pattern.stride()
    shape, stride = (*pattern.shape[:2], n_pos - 1, n_pos), (batch, head, query + key, key)
    moved = pattern.as_strided(shape, stride, pattern.storage_offset() + 2)
    sums = moved.sum(-2).flip(-1)
    sums[..., 0] += pattern[..., 0, 0]
    return sums


def sums_over(
    pattern: Float[Tensor, "batch head pos pos"], cells: Cells, least: float = 0.0
) -> Float[Tensor, "batch head"]:
    """Each head's weight in some cells of each row of the batch; weights below `least` count for nothing."""
    weights = pattern[cells.row, :, cells.query, cells.key]
    return torch.segment_reduce(torch.where(weights < least, 0, weights), "sum", lengths=cells.counts, axis=0)


def entropy_sums(pattern: Float[Tensor, "batch head pos pos"], causal: bool) -> Float[Tensor, "batch head"]:
    """The entropy of each query's weights (nats), over all queries; 0 log 0 counts as 0.

    Some weights at a time: their logarithms stay in the processor's cache. Of a causal pattern without most of what no
    query sees.
    """
    rows, least = pattern.flatten(0, 1), torch.finfo(pattern.dtype).tiny
    entropy = rows.new_zeros(len(rows))
    for queries, n_keys in _blocks(pattern.shape[-1], causal):
        seen = rows[:, queries, :n_keys]
        at_once = max(CACHED // seen[0].numel(), 1)
        for some, sums in zip(seen.split(at_once), entropy.split(at_once), strict=True):
            sums -= some.clamp(min=least).log_().mul_(some).sum((-2, -1))
    return entropy.view(pattern.shape[:2])


def strongest(
    pattern: Float[Tensor, "batch head pos pos"], causal: bool
) -> tuple[Float[Tensor, "batch head later"], Int[Tensor, "batch head later"]]:
    """Each later query's largest weight without the first column, and its key."""
    later = pattern[:, :, 1:]
    weights = [later[:, :, queries, 1 : n_keys + 1].max(-1) for queries, n_keys in _blocks(later.shape[-2], causal)]
    return torch.cat([each.values for each in weights], -1), torch.cat([each.indices for each in weights], -1) + 1


def _blocks(n_pos: int, causal: bool) -> Iterator[tuple[slice, int]]:
    """The queries of a pattern, some at a time, and how many keys from the first on they see."""
    for first in range(0, n_pos, QUERIES):
        last = min(first + QUERIES, n_pos)
        yield slice(first, last), last if causal else n_pos
