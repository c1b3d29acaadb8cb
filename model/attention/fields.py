"""The cells of a head's map: weights, scores or writes on the page's axis, for A, B or B - A.

NaN is a cell without a value: masked, hidden, or of a token that the run does not have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attention.axis import Axis, Group, Places, Unit
from headlight.model.attention.folding import Fold, folded, kept_folded, masked_units
from headlight.model.attention.sinks import MAX_QUERIES, sink_scores, sinks_of
from headlight.model.measure import Measure, alignment, attention
from headlight.model.measure.difference import Side, subtract
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.head import attend, normalizers, patterns, write_lengths, write_norms
from headlight.model.runs.host import kept
from headlight.model.runs.linear import write_scales
from headlight.model.runs.run import LONG, Run

Show = Literal["weight", "score", "write", "disagreement"]
Sink = Literal["keep", "hide", "renormalise"]
Cells = Float[Tensor, "query key"]
TITLES: dict[Show, tuple[str, str]] = {  # name, unit
    "weight": ("attention weight", ""),
    "score": ("score before the softmax", ""),
    "write": ("value-weighted norm", "L2 norm"),
    "disagreement": ("weight − share of the written norm", ""),
}
ROUNDING = 1e-5  # of a softmax in float32, with room
SIGNED: tuple[Show, ...] = ("score", "disagreement")


@dataclass(frozen=True)
class How:
    """The quantity in the cells, and the treatment of the tokens on which many heads rest: the first, and other sinks.

    `fold` says which of the weights between the tokens of two words, sentences or turns stands for them.
    """

    show: Show = "weight"
    sink: Sink = "keep"
    fold: Fold = "average"


def sink_note(how: How, unit: Places = "token") -> str:
    """The treatment of the first token and other sinks in words; empty where they are kept.

    Of larger units the first alone is hidden.
    """
    if how.sink == "keep":
        return ""
    first = "block of tokens" if unit == "block" else unit
    hidden = f"first {first} {'and other sinks ' if unit == 'token' else ''}hidden"
    return hidden if how.sink == "hide" or how.show == "score" else f"{hidden}, the other weights of a row sum to 1"


def how_between(unit: Unit, show: Show, sink: Sink, fold: Fold) -> How:
    """What cells between units can hold: tokens have no fold, and units of several have weights alone.

    The largest weights of a row sum to no 1, so that none are renormalised.
    """
    if unit == "token":
        return How(show, sink)
    return How("weight", "hide" if (fold, sink) == ("largest", "renormalise") else sink, fold)


def name_of(show: Show, fold: Fold = "average") -> str:
    """The quantity in the cells."""
    name = TITLES[show][0]
    return name if fold == "average" else f"largest {name} between two tokens"


def title(show: Show, fold: Fold = "average") -> str:
    """The quantity in the cells, with its unit where it has one."""
    name, unit = name_of(show, fold), TITLES[show][1]
    return f"{name} ({unit})" if unit else name


@dataclass(frozen=True, eq=False)
class Attention:
    """One head's attention over the units of one run: weights, scores (-inf where masked), and per key ‖v W_O‖.

    `write_scales` are what each query's writes are divided by, where a norm stands behind the heads.

    Words and sentences have weights alone: a score or a write belongs to a token. Weights that were `edited` may be
    another softmax than the scores'.
    """

    weights: Cells
    scores: Cells
    write_norms: Float[Tensor, " key"]
    edited: bool = False
    write_scales: Float[Tensor, " query"] | None = None
    sink: float | None = None

    @property
    def logsumexp(self) -> Float[Tensor, " query"]:
        """The log normalizer that turns a row's weights into scores (nats); NaN where an edit changed one of them."""
        normalizer = normalizers(self.scores, self.sink)
        if not self.edited:
            return normalizer
        parted = ((self.scores - normalizer[:, None]).exp() - self.weights).abs().amax(-1) > ROUNDING
        return normalizer.masked_fill(parted, torch.nan)


def attention_of(
    run: Run, head: Head, group: Group | None = None, fold: Fold = "average", queries: range | None = None
) -> Attention:
    """One head's attention on the run's own tokens, or on the units that `group` makes of them.

    With `queries` it is that of these tokens alone.
    """
    if group is not None:
        return _between_units(run, head, group, fold)
    attended = attend(run, *head, queries)
    norms, scales = write_norms(run, *head), write_scales(run, head[0])
    if scales is not None and queries is not None:
        scales = scales[queries.start : queries.stop]
    return Attention(attended.pattern, attended.scores, norms, attended.edited, scales, attended.sink)


def _between_units(run: Run, head: Head, group: Group, fold: Fold) -> Attention:
    layer, number = head
    of_layer = kept_folded(run, layer, group, fold)
    weights = folded(run, layer, group, fold, number)[0] if of_layer is None else of_layer[number]
    masked = run.keep(
        ("masked units", run.cfg.window(layer), tuple(group.tolist())), lambda: masked_units(run, layer, group)
    )
    nothing = torch.full_like(weights, torch.nan)
    return Attention(weights, nothing.masked_fill(masked, -torch.inf), nothing[0])


def to_sink(run: Run, head: Head) -> Float[Tensor, " query"] | None:
    """Each query's weight on the head's attention sink, which is no key; None where heads have none."""
    return attend(run, *head).to_sink if run.cfg.use_attention_sinks else None


def cells(attended: Attention, how: How, sinks: Sequence[int] = ()) -> Cells:
    """The chosen measure on the run's own units; where the first is hidden, these other `sinks` are too."""
    weights, resting = attended.weights, [0, *sinks]
    if how.sink == "renormalise":
        weights = attention.without_keys(weights, resting, renormalise=True)
    match how.show:
        case "weight":
            values = weights
        case "score":
            values = attended.scores
        case "write":
            lengths, scales = weights * attended.write_norms, attended.write_scales
            values = lengths if scales is None else lengths / scales[:, None]
        case "disagreement":
            values = attention.disagreement(weights, attended.write_norms).values
    hidden = attended.scores.isneginf()
    if how.sink != "keep":
        hidden = hidden.index_fill(-1, torch.tensor(resting), True)
    return values.masked_fill(hidden, torch.nan)


def on_axis(comparison: Comparison, side: Side, head: Head, how: How, axis: Axis) -> Cells:
    """One head's cells of A, of B or of B - A on the axis."""
    if side != "difference":
        return _placed(comparison, "ab".index(side), head, how, axis, torch.nan)
    # A key that only one run has got no weight from the other; a score that was never computed is no zero.
    absent = torch.nan if how.show == "score" else 0.0
    a, b = (_placed(comparison, index, head, how, axis, absent) for index in (0, 1))
    return subtract(a, b)


def _placed(comparison: Comparison, index: int, head: Head, how: How, axis: Axis, absent_key: float) -> Cells:
    run, group = comparison.runs[index], axis.groups[index]
    sinks = sinks_of(run) if group is None and how.sink != "keep" else ()
    values = cells(attention_of(run, head, group, how.fold), how, sinks)
    positions = axis.positions[index]
    return alignment.on_axis(alignment.on_axis(values, positions, absent_key), positions, torch.nan, dims=(-2,))


def divergence(comparison: Comparison, axis: Axis) -> Measure:
    """Difference of each head's attention in A and B: mean Jensen-Shannon divergence of the rows that both have."""
    values = [
        [_divergence(comparison, (layer, head), axis) for head in range(comparison.n_heads)]
        for layer in range(comparison.n_layers)
    ]
    return Measure("Jensen–Shannon divergence of A and B", "nats", ("layer", "head"), torch.tensor(values))


def _divergence(comparison: Comparison, head: Head, axis: Axis) -> float:
    a, b = (attention_of(run, head, group).weights for run, group in zip(comparison.runs, axis.groups, strict=True))
    return alignment.pattern_divergence(a, b, alignment.Alignment(*axis.positions)).values.nanmean().item()


def change(comparison: Comparison) -> Measure:
    """Mean |B - A| of each head's weights over the rows that both runs have, of a long prompt over some of them.

    A key that one run lacks has weight 0 there.
    """
    pairs = [pair for pair in zip(*map(comparison.positions, comparison.runs), strict=True) if None not in pair]
    if len(pairs) >= LONG:
        pairs = [pairs[at] for at in torch.linspace(0, len(pairs) - 1, MAX_QUERIES).round().int().tolist()]
    queries = [[position for position in own if position is not None] for own in zip(*pairs, strict=True)]
    values = torch.zeros(comparison.n_layers, comparison.n_heads)
    for layer in range(comparison.n_layers if pairs else 0):
        values[layer] = _changes_of(comparison, layer, queries)
    return Measure("mean change", "probability", ("layer", "head"), values)


def _changes_of(comparison: Comparison, layer: int, queries: Sequence[list[int]]) -> Float[Tensor, " head"]:
    """A layer's: `queries` are the positions of the rows in A, and as many in B."""
    a, b = (
        alignment.on_axis(patterns(run, layer, rows)[: comparison.n_heads], comparison.positions(run), 0.0)
        for run, rows in zip(comparison.runs, queries, strict=True)
    )
    return (b - a).abs().mean((-2, -1))


def apart(run: Run, chosen: Sequence[Head]) -> Measure:
    """Difference between the chosen heads: mean Jensen-Shannon divergence of their attention rows."""
    values = torch.zeros(len(chosen), len(chosen))
    for (i, one), (j, other) in combinations(enumerate(chosen), 2):
        values[i, j] = values[j, i] = _apart(run, one, other)
    return Measure("Jensen–Shannon divergence", "nats", ("head", "other_head"), values)


@kept
def _apart(run: Run, one: Head, other: Head) -> float:
    patterns = (attend(run, *head).pattern for head in (one, other))
    return attention.js_divergence(*patterns).values.mean().item()


def alike(run: Run, head: Head) -> Measure:
    """Distance of every head from one head: mean Jensen-Shannon divergence of their attention rows."""
    patterns = (
        torch.stack([attend(run, layer, other).pattern for other in range(run.cfg.n_heads)])
        for layer in range(run.cfg.n_layers)
    )
    return attention.most_alike(attend(run, *head).pattern, patterns)


def largest_write(run: Run, head: Head) -> float:
    """The largest ‖weight · v W_O‖ (L2 norm) of a head's cells."""
    return float(write_lengths(run, *head, attend(run, *head).pattern).max())


def head_score(run: Run, name: str, head: Head) -> float:
    """One head's score in one run; the largest write takes its pattern, so it is computed per head."""
    if name == "largest_write":
        return run.keep((name, head), lambda: largest_write(run, head))
    return float(head_scores(run, name)[head])


def head_scores(run: Run, name: str) -> Float[Tensor, "layer head"]:
    """Every head's score in one run; NaN where the run has none, as of other sinks."""
    layers, heads = range(run.cfg.n_layers), range(run.cfg.n_heads)
    if name != "largest_write":
        return (sink_scores(run) if name == "other_sinks" else run.scores[name]).values
    return torch.tensor([[head_score(run, name, (layer, head)) for head in heads] for layer in layers])
