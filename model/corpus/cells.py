"""What sums over the cells of a batch's patterns need to know of its tokens, made once for all layers."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.corpus.sequences import Batch

Cells = Int[Tensor, "_"]  # places in a row's pattern, flattened: query * n_keys + key


@dataclass(frozen=True, eq=False)
class Facts:
    """A batch's cells that figures add up, row by row, and how many queries have any.

    `copies` are keys that hold the query's token before it, `after_copies` the keys behind these, the query itself
    among them. `marks` are the tokens that are punctuation. Queries count from each row's first real token.
    """

    lengths: Int[Tensor, " batch"]
    copies: tuple[Cells, ...]
    after_copies: tuple[Cells, ...]
    n_repeats: Int[Tensor, " batch"]
    marks: Bool[Tensor, "batch pos"]
    n_after_marks: Int[Tensor, " batch"]


def facts(batch: Batch, is_mark: Callable[[int], bool]) -> Facts:
    """What figures need to know of a batch's tokens."""
    n_pos = batch.tokens.shape[1]
    found = [_copies(row[:length]) for row, length in zip(batch.tokens, batch.lengths.tolist(), strict=True)]
    marks = torch.zeros(batch.tokens.shape, dtype=torch.bool)
    for row, sequence in zip(marks, batch.sequences, strict=True):
        row[: len(sequence.tokens)] = torch.tensor([is_mark(token) for token in sequence.tokens])
    first = torch.where(marks.any(-1), marks.int().argmax(-1), n_pos)
    return Facts(
        batch.lengths,
        copies=tuple(query * n_pos + key for query, key in found),
        after_copies=tuple(query * n_pos + key + 1 for query, key in found),
        n_repeats=torch.tensor([len(query.unique()) for query, _ in found]),
        marks=marks,
        n_after_marks=(batch.lengths - 1 - first).clamp(min=0),
    )


def _copies(tokens: Int[Tensor, " pos"]) -> tuple[Cells, Cells]:
    """The queries and keys of all pairs of equal tokens, the key the earlier one."""
    queries, keys = (tokens[:, None] == tokens).tril(diagonal=-1).nonzero(as_tuple=True)
    return queries, keys


def by_distance(pattern: Float[Tensor, "batch head pos pos"], causal: bool) -> Float[Tensor, "batch head distance"]:
    """How much weight lies so many tokens apart, over all queries: the sums of a pattern's diagonals.

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


def sums_over(pattern: Float[Tensor, "batch head pos pos"], cells: tuple[Cells, ...], least: float = 0.0) -> Tensor:
    """Each head's weight in some cells of each row of the batch; weights below `least` count for nothing."""
    rows = pattern.flatten(2)
    found = [row.index_select(1, chosen) for row, chosen in zip(rows, cells, strict=True)]
    return torch.stack([torch.where(weights < least, 0, weights).sum(-1) for weights in found])
