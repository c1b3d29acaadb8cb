"""A layer's attention between words, sentences or turns, folded from its patterns some queries at a time.

No pattern of a long text is held whole: 4,096 tokens and nine heads would take 600 MB a layer.
"""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.attention.grouping import grouped, largest
from headlight.model.runs.head import pattern_blocks
from headlight.model.runs.run import Run

Fold = Literal["average", "largest"]
Folded = Float[Tensor, "head unit unit"]
Group = Int[Tensor, " pos"]

FOLDS: dict[Fold, Callable[[Tensor, Group], Tensor]] = {"average": grouped, "largest": largest}
MAX_KEPT = 2**26  # cells of all layers together that a run keeps: 256 MB, some 500 sentences of SmolLM2


def kept_folded(run: Run, layer: int, group: Group, fold: Fold) -> Folded | None:
    """Attention between units of consecutive tokens, computed once for all heads of a layer; a masked cell counts as 0.

    None where nothing is cached, or all layers' would take too much memory. "average" adds up the weights on a unit's
    keys and averages those of a unit's queries, so that rows that sum to 1 still do; "largest" is the largest weight of
    one token on one token.
    """
    n_units = int(group[-1]) + 1
    if not run.host.caches or run.cfg.n_layers * run.cfg.n_heads * n_units**2 > MAX_KEPT:
        return None
    return run.keep(("folded", layer, fold, tuple(group.tolist())), lambda: _folded(run, layer, group, fold))


def _folded(run: Run, layer: int, group: Group, fold: Fold) -> Folded:
    if fold == "largest":
        return _largest(run, layer, group)
    return sums(run, layer, group) / group.bincount()[:, None]


@torch.inference_mode()
def sums(run: Run, layer: int, group: Group) -> Folded:
    """Each head's weights added up between units, in whatever order their tokens stand."""
    rows = torch.zeros(run.cfg.n_heads, int(group.max()) + 1, len(group))
    for queries, pattern in pattern_blocks(run, layer):
        rows.index_add_(1, group[queries], pattern)
    return rows.new_zeros(len(rows), rows.shape[1], rows.shape[1]).index_add_(2, group, rows)


@torch.inference_mode()
def _largest(run: Run, layer: int, group: Group) -> Folded:
    rows = torch.full((run.cfg.n_heads, int(group[-1]) + 1, len(group)), -torch.inf)
    for queries, pattern in pattern_blocks(run, layer):
        units, counts = group[queries].unique_consecutive(return_counts=True)
        for unit, of_unit in zip(units.tolist(), pattern.split(counts.tolist(), 1), strict=True):
            rows[:, unit] = torch.maximum(rows[:, unit], of_unit.amax(1))
    return torch.stack([of_unit.amax(-1) for of_unit in rows.split(group.bincount().tolist(), -1)], -1)
