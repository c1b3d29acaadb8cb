"""Figures of every head on a batch, computed as the patterns pass: sums over cells, and their numbers of terms.

A figure of the corpus is a ratio of two such sums over all its documents. Six are HeadVis's, by its own definitions.

Source: the figures of Neuronpedia's `headvis/compute-head-metrics.py` (Luger, Kamath et al. 2026).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.corpus.cells import by_distance, entropy_sums, facts, strongest, sums_over
from headlight.model.corpus.sequences import Batch, show
from headlight.model.nn.hooks import NO_TAP, Look, Tap
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.linear import writes_at_unit_scale

Quantity = Literal[
    "queries",
    "later_queries",
    "self",
    "previous",
    "entropy",
    "distance",
    "squared_distance",
    "repeats",
    "induction",
    "duplicate",
    "first",
    "after_marks",
    "punctuation",
    "written",
    "written_distance",
    "write_share",
]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
AT = {name: place for place, name in enumerate(QUANTITIES)}
MIN_INDUCTION_WEIGHT = 0.01  # weights below count for nothing, as in HeadVis

NAMES = ("hook_resid_pre", "attn.hook_v", "attn.hook_pattern", "attn.hook_z", "ln1_post.hook_scale", "hook_attn_out")


@dataclass(frozen=True, eq=False)
class Attended:
    """A layer's patterns on a batch, with padding rows zero and with derived arrays computed once.

    `by_distance` are sums of diagonals, `to_key` those of columns. `strongest` is each query's largest weight without
    the first row and column, which many heads rest on, and `strongest_key` where that is; both begin at query 1.
    """

    layer: int
    pattern: Float[Tensor, "batch head pos pos"]
    by_distance: Float[Tensor, "batch head pos"]
    to_key: Float[Tensor, "batch head pos"]
    strongest: Float[Tensor, "batch head later"]
    strongest_key: Int[Tensor, "batch head later"]


Gather = Callable[[Attended], None]


class Measuring(Tap):
    """Adds up every head's quantities on a batch, and shows each layer's patterns to `gather`.

    `sums` [batch, layer, head, quantity] are complete when the pass is over.
    """

    def __init__(self, model: Transformer, batch: Batch, is_mark: Callable[[int], bool], gather: Gather) -> None:
        cfg = model.cfg
        self._model, self._batch, self._gather = model, batch, gather
        self._device, self._causal = model.embed.W_E.device, cfg.attention_dir == "causal"
        self._facts = facts(batch, is_mark, self._device)
        self.sums = np.zeros((len(batch.tokens), cfg.n_layers, cfg.n_heads, len(QUANTITIES)))
        self._real = batch.real.to(self._device)
        self._stream = self._values = self._writes = torch.empty(0)
        self._scale: Tensor | None = None

    def look(self, name: str) -> Look:
        return Look.WHOLE if name.startswith("blocks.") and name.split(".", 2)[2] in NAMES else Look.NEVER

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if not self.look(name):
            return activation
        _, layer, part = name.split(".", 2)
        match part:
            case "hook_resid_pre":
                self._stream, self._scale = activation.norm(dim=-1), None
            case "attn.hook_v":
                self._values = self._lengths(int(layer), activation)
            case "attn.hook_pattern":
                self._attended(int(layer), activation)
            case "attn.hook_z":
                self._writes = self._lengths(int(layer), activation)
            case "ln1_post.hook_scale":
                self._scale = activation[..., 0]
            case "hook_attn_out":
                self._written(int(layer))
        return activation

    def _lengths(self, layer: int, vectors: Float[Tensor, "batch pos _ d_value"]) -> Float[Tensor, "batch head pos"]:
        """L2 norm of each head's output in the stream for these value vectors, by the Gram matrix of W_O's rows."""
        W_O = writes_at_unit_scale(self._model, layer, widened(self._model.block(layer).attn.W_O))
        products = W_O @ W_O.transpose(1, 2)
        each = vectors.transpose(1, 2).to(products)
        each = each.repeat_interleave(len(products) // each.shape[1], 1)
        return ((each @ products) * each).sum(-1).clamp(min=0).sqrt()

    def _attended(self, layer: int, pattern: Float[Tensor, "batch head pos pos"]) -> None:
        for row, length in zip(pattern, self._batch.lengths.tolist(), strict=True):
            row[:, length:] = 0  # what padding attends to, which nothing reads: in place, for a copy would be as large
        apart = by_distance(pattern, self._causal)
        to_key, distance = self._columns(pattern)
        seen = Attended(layer, pattern, apart, to_key, *strongest(pattern, self._causal))
        self._add(layer, self._figures(seen, distance))
        self._gather(seen)

    def _columns(self, pattern: Tensor) -> tuple[Tensor, Tensor]:
        """The sums of each key's weights, and of weights times distance to the query."""
        place = torch.arange(float(pattern.shape[-1]), device=pattern.device)
        if not self._causal:
            apart = (place[:, None] - place).abs()
            return pattern.sum(-2), (pattern * apart).sum(-2)
        both = torch.stack([torch.ones_like(place), place]) @ pattern
        return both[..., 0, :], both[..., 1, :] - place * both[..., 0, :]

    def _figures(self, seen: Attended, distance: Float[Tensor, "batch head pos"]) -> dict[Quantity, Tensor]:
        known, pattern = self._facts, seen.pattern
        apart = seen.by_distance.double()
        place = torch.arange(apart.shape[-1], device=apart.device, dtype=torch.float64)
        before = self._before(pattern, seen.to_key)
        marked = known.marks.to(pattern)[:, None]
        return {
            "self": apart[..., 0],
            "previous": apart[..., 1] if self._causal else pattern.diagonal(-1, -2, -1).sum(-1),
            "entropy": entropy_sums(pattern, self._causal),
            "distance": apart @ place,
            "squared_distance": apart @ place**2,
            "induction": sums_over(pattern, known.after_copies, MIN_INDUCTION_WEIGHT),
            "duplicate": sums_over(pattern, known.copies),
            "first": seen.to_key[..., 0] - pattern[..., 0, 0],
            "punctuation": (before * marked).sum(-1),
            "written": (seen.to_key * self._values).sum(-1),
            "written_distance": (distance * self._values).sum(-1),
        }

    def _before(self, pattern: Tensor, to_key: Tensor) -> Float[Tensor, "batch head pos"]:
        """The sum of each key's weights from later queries."""
        if not self._causal:
            return pattern.tril(-1).sum(-2)
        return to_key - pattern.diagonal(dim1=-2, dim2=-1)

    def _written(self, layer: int) -> None:
        """Add the size of heads' writes relative to the stream before the layer, once the norm's scale is known."""
        lengths = self._writes if self._scale is None else self._writes / self._scale[:, None]
        shares = (lengths / self._stream[:, None]).masked_fill(~self._real[:, None], 0)
        self._add(layer, {"write_share": shares.sum(-1)})
        self._add(layer, self._counts(shares[..., 0]))

    def _counts(self, like: Float[Tensor, "batch head"]) -> dict[Quantity, Tensor]:
        counts: dict[Quantity, Tensor] = {
            "queries": self._batch.lengths,
            "later_queries": self._batch.lengths - 1,
            "repeats": self._facts.n_repeats,
            "after_marks": self._facts.n_after_marks,
        }
        return {name: count.to(like.device)[:, None].expand_as(like) for name, count in counts.items()}

    def _add(self, layer: int, figures: dict[Quantity, Tensor]) -> None:
        for name, values in figures.items():
            self.sums[:, layer, :, AT[name]] = values.double().cpu().numpy()


def measure(
    model: Transformer,
    batch: Batch,
    is_mark: Callable[[int], bool],
    gather: Gather = lambda seen: None,
    also: Tap = NO_TAP,
) -> Float[np.ndarray, "batch layer head quantity"]:
    """Every head's quantities on each sequence of a batch; `also` looks on."""
    tap = Measuring(model, batch, is_mark, gather)
    show(model, batch, tap, also)
    return tap.sums
