"""The axis of the attention page: tokens, words, sentences or turns, of A or of A and B together."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.attention.grouping import sentences, words
from headlight.model.measure.alignment import Align, Presence, aligned, presence
from headlight.model.runs.comparison import BOTH, Comparison, place_labels
from headlight.model.runs.run import Run
from headlight.model.text.labels import with_spaces

Unit = Literal["token", "word", "sentence", "turn"]
Places = Literal["token", "word", "sentence", "turn", "block"]  # what stands at a place: a unit, or a block of tokens
Group = Int[Tensor, "_"]  # each token's unit; of two runs as many as each has
GROUPINGS = {"word": words, "sentence": sentences}
MAX_PLACES = 1024  # blocks on a side of a pattern: more than a picture has pixels for
MAX_TOKENS = 2048  # on a side, beyond which a pattern is pooled: 8 MB a head to send


@dataclass(frozen=True, eq=False)
class Axis:
    """Places with their labels; for each run, by its index, which unit stands at a place, and each token's unit.

    `groups` holds None where the units are the tokens themselves.
    """

    labels: tuple[str, ...]
    presence: tuple[Presence, ...]
    positions: tuple[tuple[int | None, ...], ...]
    groups: tuple[Group | None, ...]


def axis_of(comparison: Comparison, unit: Places, align: Align) -> Axis:
    """The axis of the rows and columns, in tokens, words, sentences or turns of a conversation, or blocks of tokens."""
    if unit == "token":
        positions = tuple(comparison.positions(run) for run in comparison.runs)
        return Axis(comparison.labels, comparison.presence, positions, (None,) * len(positions))
    groups = tuple(grouping(run, unit) for run in comparison.runs)
    labels = [_labels(run, group, unit) for run, group in zip(comparison.runs, groups, strict=True)]
    return side_by_side(labels, labels, align, groups)


def grouping(run: Run, unit: Places) -> Group:
    """Each token's unit; a prompt that is no conversation is one turn."""
    if unit == "block":
        return torch.arange(len(run.tokens)) // block_size(len(run.tokens))
    if unit != "turn":
        return GROUPINGS[unit](run.tokenizer.to_str_tokens(run.tokens))
    group = torch.zeros(len(run.tokens), dtype=torch.long)
    for number, turn in enumerate(run.turns):
        group[turn.start : turn.stop] = number
    return group


def block_size(n_tokens: int) -> int:
    """Number of consecutive tokens, a power of two, that stand at one place of a pooled pattern."""
    return 2 ** max(0, math.ceil(math.log2(n_tokens / MAX_PLACES)))


def side_by_side(
    labels: Sequence[tuple[str, ...]],
    units: Sequence[Sequence[Hashable]],
    align: Align,
    groups: tuple[Group | None, ...] = (None, None),
) -> Axis:
    """The axis of one list of units, or of two, which are the same where they are equal."""
    if len(labels) == 1:
        return Axis(labels[0], (BOTH,) * len(labels[0]), (tuple(range(len(labels[0]))),), groups[:1])
    alignment = aligned(units[0], units[1], align)
    kinds = presence(alignment, *units)
    return Axis(place_labels(alignment, kinds, labels[0], labels[1]), kinds, (alignment.a, alignment.b), groups)


def _labels(run: Run, group: Group, unit: Places) -> tuple[str, ...]:
    """Each unit's label: those of its tokens in a row, with plain spaces where it is several words.

    A turn's is without special tokens, with which all turns begin alike.
    """
    tokenizer, labels = run.tokenizer, list[str]()
    for number in range(int(group[-1]) + 1):
        tokens = run.tokens[group == number].tolist()
        texts = [token for token in tokens if not tokenizer.is_special(token)] if unit == "turn" else []
        labels.append(tokenizer.label_together(texts or tokens))
    return tuple(map(with_spaces, labels) if unit in ("sentence", "turn") else labels)


def turn_starts(comparison: Comparison, axis: Axis) -> list[tuple[str, int]]:
    """The role of each turn of A's conversation, and the place on the axis that it begins at."""
    group = axis.groups[0]
    if group is None:
        return list(comparison.turns)
    place_of = {unit: place for place, unit in enumerate(axis.positions[0]) if unit is not None}
    return [(turn.role, place_of[int(group[turn.start])]) for turn in comparison.a.turns]
