"""A layer's attention between words, sentences or turns, folded from its patterns some queries at a time.

No pattern of a long text is held whole: 4,096 tokens and nine heads would take 600 MB a layer.
"""

from collections.abc import Iterable
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.runs.head import pattern_blocks, query_blocks
from headlight.model.runs.host import Steps
from headlight.model.runs.run import Run

Fold = Literal["average", "largest"]
Folded = Float[Tensor, "head unit unit"]
Group = Int[Tensor, " pos"]

MAX_KEPT = 2**26  # cells of all layers together that a run keeps: 256 MB, some 500 sentences of SmolLM2


def kept_folded(run: Run, layer: int, group: Group, fold: Fold) -> Folded | None:
    """Attention between units of consecutive tokens, computed once for all heads of a layer; a masked cell counts as 0.

    None where nothing is cached, or all layers' would take too much memory. "average" adds up the weights on a unit's
    keys and averages those of a unit's queries, so that rows that sum to 1 still do; "largest" is the largest weight of
    one token on one token.
    """
    if not _is_kept(run, group):
        return None
    return run.keep(("folded", layer, fold, tuple(group.tolist())), lambda: folded(run, layer, group, fold))


def fold_all(run: Run, group: Group, fold: Fold) -> bool:
    """Fold every layer, with progress; False where they are too large to be kept, and none is folded.

    Raises:
        HeadlightError: the run's host lets no more work in.
    """
    if not _is_kept(run, group):
        return False
    steps = Steps(run.host, run.cfg.n_layers)
    with run.host.turn():
        for layer in range(run.cfg.n_layers):
            kept_folded(run, layer, group, fold)
            steps.add()
    return True


def _is_kept(run: Run, group: Group) -> bool:
    n_units = int(group[-1]) + 1
    return run.host.caches and run.cfg.n_layers * run.cfg.n_heads * n_units**2 <= MAX_KEPT


def folded(run: Run, layer: int, group: Group, fold: Fold, head: int | None = None) -> Folded:
    """Attention between units of consecutive tokens, of all heads of a layer or of one alone."""
    if fold == "largest":
        return _largest(run, layer, group, head)
    return sums(run, layer, group, head) / group.bincount()[:, None]


@torch.inference_mode()
def sums(run: Run, layer: int, group: Group, head: int | None = None) -> Folded:
    """Each head's weights added up between units, in whatever order their tokens stand."""
    rows = torch.zeros(run.cfg.n_heads if head is None else 1, int(group.max()) + 1, len(group))
    for queries, pattern in pattern_blocks(run, layer, head):
        rows.index_add_(1, group[queries], pattern)
    return rows.new_zeros(len(rows), rows.shape[1], rows.shape[1]).index_add_(2, group, rows)


@torch.inference_mode()
def _largest(run: Run, layer: int, group: Group, head: int | None = None) -> Folded:
    return largest(pattern_blocks(run, layer, head), run.cfg.n_heads if head is None else 1, group)


def largest(blocks: Iterable[tuple[slice, Float[Tensor, "head query key"]]], n_heads: int, group: Group) -> Folded:
    """The largest value between a token of one unit and a token of another, from some queries' rows at a time."""
    rows = torch.full((n_heads, int(group[-1]) + 1, len(group)), -torch.inf)
    for queries, values in blocks:
        units, counts = group[queries].unique_consecutive(return_counts=True)
        for unit, of_unit in zip(units.tolist(), values.split(counts.tolist(), 1), strict=True):
            rows[:, unit] = torch.maximum(rows[:, unit], of_unit.amax(1))
    return torch.stack([of_unit.amax(-1) for of_unit in rows.split(group.bincount().tolist(), -1)], -1)


def masked_units(run: Run, layer: int, group: Group) -> Bool[Tensor, "unit unit"]:
    """Whether no token of a unit sees one of another."""
    rule = run.rule(layer)
    blocks = ((block, rule.mask_of(block)[0, :1].float()) for block in query_blocks(len(group)))
    return largest(blocks, 1, group)[0] == 0
