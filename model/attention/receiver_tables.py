"""Receiver heads of one or two runs as tables: heads by kurtosis, and sentences with their vertical scores."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attention.axis import Axis, Unit
from headlight.model.attention.receiver_heads import ReceiverHeads, no_receiver_heads, receiver_heads
from headlight.model.measure import Measure
from headlight.model.measure.alignment import on_axis
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.tables import Row, Tables, columns, number

HEADING = ["run", "head", "kurtosis of vertical scores", "place most attended to", "its vertical score"]
MEAN = "mean of receiver heads"


def receivers_of(comparison: Comparison, unit: Unit) -> dict[str, ReceiverHeads]:
    """Receiver heads of A and of B; none where one of them has too few sentences."""
    if any(no_receiver_heads(run, unit) for run in comparison.runs):
        return {}
    return {side: receiver_heads(run, unit) for side, run in comparison.sides.items()}


def receiver_tables(receivers: Mapping[str, ReceiverHeads], heads: Sequence[Head], axis: Axis) -> Tables:
    """Tabulate all heads by kurtosis, and each sentence's score in the receiver heads and in some heads."""
    if not receivers:
        return {}
    return {
        "receivers": columns(HEADING, _ranked(receivers, axis)),
        "vertical": columns(["run", "place", MEAN, *map(head_name, heads)], _sentences(receivers, heads, axis)),
    }


def receiver_arrays(receivers: Mapping[str, ReceiverHeads], axis: Axis) -> dict[str, dict[str, Measure]]:
    """Vertical scores [layer, head, place] and kurtosis [layer, head] of each run, by their names."""
    vertical = {}
    for side, each in receivers.items():
        values = placed(each.vertical.values, side, axis)
        vertical[side] = Measure(each.vertical.name, each.vertical.unit, ("layer", "head", "place"), values)
    return {"vertical scores": vertical, "kurtosis": {side: each.kurtosis for side, each in receivers.items()}}


def placed(scores: Float[Tensor, "*lead sentence"], side: str, axis: Axis) -> Float[Tensor, "*lead place"]:
    """Scores of a run's sentences on the places of the axis; NaN where the run has no sentence."""
    return on_axis(scores, axis.positions["AB".index(side)], torch.nan)


def _ranked(receivers: Mapping[str, ReceiverHeads], axis: Axis) -> Iterator[Row]:
    for side, each in receivers.items():
        places = axis.positions["AB".index(side)]
        for head in each.ranked:
            sentence = each.most_read(head)
            score = float(each.vertical.values[head][sentence])
            yield side, head_name(head), float(each.kurtosis.values[head]), places.index(sentence), score


def _sentences(receivers: Mapping[str, ReceiverHeads], heads: Sequence[Head], axis: Axis) -> Iterator[Row]:
    for side, each in receivers.items():
        of_heads = [each.mean, *(each.vertical.values[head] for head in heads)]
        scores = placed(torch.stack(of_heads), side, axis).T.tolist()
        yield from ((side, place, *map(number, row)) for place, row in enumerate(scores))
