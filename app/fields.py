"""What the cells of a head's picture hold: its weights, scores or writes, on the page's axis, for A, B or B - A.

NaN is a cell without a value: masked, hidden, or of a token that the run does not have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from app import runs
from app.axis import Axis, Group
from app.run import THUMBNAIL, Run, attend, write_norms
from app.selection.chosen import Head, Show, Side, Sink
from app.shown import Shown
from model.analysis import Measure, alignment, attention
from model.analysis.grouping import grouped

Cells = Float[Tensor, "query key"]
TITLES: dict[Show, tuple[str, str]] = {  # name, unit; measures.js has the same
    "weight": ("attention weight", ""),
    "score": ("score before the softmax", "nats"),
    "write": ("value-weighted norm", "L2 norm"),
    "disagreement": ("weight − share of the written norm", ""),
}
NOISE = 1e-5  # a smaller difference is float32's rounding, and not to be coloured as if it were one
ROUNDING = 1e-5  # of a softmax in float32, with room
SIGNED: tuple[Show, ...] = ("score", "disagreement")


@dataclass(frozen=True)
class How:
    """What the cells hold, and what becomes of the first token, on which many heads rest."""

    show: Show = "weight"
    sink: Sink = "keep"


def first_token_note(how: How) -> str:
    """What became of the first token; nothing where it is kept. measures.js says the same."""
    if how.sink == "keep":
        return ""
    if how.sink == "hide" or how.show == "score":
        return "first token hidden"
    return "first token hidden, the other weights of a row sum to 1"


def title(show: Show) -> str:
    """What the cells hold, with its unit where it has one."""
    name, unit = TITLES[show]
    return f"{name} ({unit})" if unit else name


@dataclass(frozen=True, eq=False)
class Attention:
    """One head's attention over the units of one run: weights, scores (-inf where masked), and per key ‖v W_O‖.

    Words and sentences have weights alone: a score or a write belongs to a token. Weights that were `edited` may be
    another softmax than the scores'.
    """

    weights: Cells
    scores: Cells
    write_norms: Float[Tensor, " key"]
    edited: bool = False

    @property
    def logsumexp(self) -> Float[Tensor, " query"]:
        """What makes scores of a row's weights (nats); not a number where an edit has parted them."""
        normalizer = self.scores.logsumexp(-1)
        if not self.edited:
            return normalizer
        parted = (self.scores.softmax(-1) - self.weights).abs().amax(-1) > ROUNDING
        return normalizer.masked_fill(parted, torch.nan)


def attention_of(run: Run, head: Head, group: Group | None = None) -> Attention:
    """One head's attention on the run's own tokens, or on the units that `group` makes of them."""
    attended = attend(run, *head)
    if group is None:
        return Attention(attended.pattern, attended.scores, write_norms(run, *head), attended.edited)
    weights = grouped(attended.pattern, group)
    # Groups are tokens in a row: one is seen from another exactly as a token from a token.
    masked = torch.full_like(weights, run.cfg.attention_dir == "causal", dtype=torch.bool).triu(1)
    nothing = torch.full_like(weights, torch.nan)
    return Attention(weights, nothing.masked_fill(masked, -torch.inf), nothing[0])


def cells(attended: Attention, how: How) -> Cells:
    """The chosen measure on the run's own units."""
    weights = attended.weights
    if how.sink == "renormalise":
        weights = attention.without_first_key(weights, renormalise=True)
    match how.show:
        case "weight":
            values = weights
        case "score":
            values = attended.scores
        case "write":
            values = weights * attended.write_norms
        case "disagreement":
            values = attention.disagreement(weights, attended.write_norms).values
    hidden = attended.scores.isneginf()
    if how.sink != "keep":
        hidden = hidden.index_fill(-1, torch.tensor(0), True)
    return values.masked_fill(hidden, torch.nan)


def on_axis(shown: Shown, side: Side, head: Head, how: How, axis: Axis) -> Cells:
    """One head's cells of A, of B or of B - A on the axis."""
    if side != "difference":
        return _placed(shown, "ab".index(side), head, how, axis, torch.nan)
    # A key that only one run has got no weight from the other; a score that was never computed is no zero.
    absent = torch.nan if how.show == "score" else 0.0
    a, b = (_placed(shown, index, head, how, axis, absent) for index in (0, 1))
    return b - a


def _placed(shown: Shown, index: int, head: Head, how: How, axis: Axis, absent_key: float) -> Cells:
    values = cells(attention_of(shown.runs[index], head, axis.groups[index]), how)
    positions = axis.positions[index]
    return alignment.on_axis(alignment.on_axis(values, positions, absent_key), positions, torch.nan, dims=(-2,))


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """All heads' pictures, pooled, with the limit of their common scale; signed ones run from -limit to limit."""

    values: Float[np.ndarray, "layer head rows columns"]
    limit: float
    signed: bool


def thumbnails(shown: Shown, side: Side, how: How, axis: Axis) -> Thumbnails:
    """Every head's cells pooled: of each bin the largest, for signed cells the one farthest from zero."""
    if how == How() and shown.b is None and axis.groups == (None,):
        return _taken_as_they_passed(shown.a)
    signed = side == "difference" or how.show in SIGNED
    pool = farthest_from_zero if signed else largest
    pooled = [
        [pool(on_axis(shown, side, (layer, head), how, axis)) for head in range(shown.n_heads)]
        for layer in range(shown.n_layers)
    ]
    values = torch.stack([torch.stack(layer) for layer in pooled]).numpy()
    limit = 1.0 if how.show == "weight" and not signed else scale_end(float(np.nanmax(np.abs(values), initial=0)))
    return Thumbnails(values, limit, signed)


def scale_end(largest: float) -> float:
    """Where a colour scale ends that holds values up to the largest: that, rounded up to two digits, or 1 for noise."""
    if largest <= NOISE:
        return 1.0
    step = 10.0 ** (np.floor(np.log10(largest)) - 1)
    return float(f"{np.ceil(largest / step - NOISE) * step:.2g}")


def _taken_as_they_passed(run: Run) -> Thumbnails:
    return Thumbnails(run.thumbnails.masked_fill(run.hidden, torch.nan).numpy(), 1.0, signed=False)


def largest(cells: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head rows columns"]:
    """The largest cell of each bin of a thumbnail; NaN where none has a value."""
    pooled = attention.max_pool(cells.nan_to_num(nan=-torch.inf), THUMBNAIL)
    return pooled.masked_fill(pooled.isneginf(), torch.nan)


def farthest_from_zero(cells: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head rows columns"]:
    """The cell of each bin of a thumbnail that is the farthest from zero."""
    highest, lowest = largest(cells), -largest(-cells)
    return torch.where(highest >= -lowest, highest, lowest)


def divergence(shown: Shown, axis: Axis) -> Measure:
    """How differently each head attends in A and B: the mean Jensen-Shannon divergence of the rows that both have."""
    values = [
        [_divergence(shown, (layer, head), axis) for head in range(shown.n_heads)] for layer in range(shown.n_layers)
    ]
    return Measure("Jensen–Shannon divergence of A and B", "nats", ("layer", "head"), torch.tensor(values))


def _divergence(shown: Shown, head: Head, axis: Axis) -> float:
    a, b = (attention_of(run, head, group).weights for run, group in zip(shown.runs, axis.groups, strict=True))
    return alignment.pattern_divergence(a, b, alignment.Alignment(*axis.positions)).values.nanmean().item()


def apart(run: Run, chosen: Sequence[Head]) -> Measure:
    """How differently the chosen heads attend: the mean Jensen-Shannon divergence between their rows."""
    values = torch.zeros(len(chosen), len(chosen))
    for (i, one), (j, other) in combinations(enumerate(chosen), 2):
        values[i, j] = values[j, i] = _apart(run, one, other)
    return Measure("Jensen–Shannon divergence", "nats", ("head", "other_head"), values)


def _apart(run: Run, one: Head, other: Head) -> float:
    def mean() -> float:
        patterns = (attend(run, *head).pattern for head in (one, other))
        return attention.js_divergence(*patterns).values.mean().item()

    return runs.kept(run, ("apart", one, other), mean)


def alike(run: Run, head: Head) -> Measure:
    """How far every head's rows are from one head's: the mean Jensen-Shannon divergence."""
    patterns = (
        torch.stack([attend(run, layer, other).pattern for other in range(run.cfg.n_heads)])
        for layer in range(run.cfg.n_layers)
    )
    return attention.most_alike(attend(run, *head).pattern, patterns)


def largest_write(run: Run, head: Head) -> float:
    """The largest ‖weight · v W_O‖ (L2 norm) of a head's cells."""
    return float((attend(run, *head).pattern * write_norms(run, *head)).max())
