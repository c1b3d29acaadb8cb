"""Beam search as a tree from left to right, a column a step; a click chooses a branch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headlight.app.components.shared.mount import mount, register

BeamState = Literal["kept", "finished", "dropped"]

_render = register(__file__)


@dataclass(frozen=True)
class BeamNode:
    """Token appended to a beam: its label, its parent, its score, and its fate.

    `parent` is the index of the node before, None after the start; `step`, from 1, is one more than the parent's.
    `log_prob` is the token's own and `total` the sum from the start, both in nats; `score` is what beams are ranked by.
    """

    label: str
    parent: int | None
    step: int
    log_prob: float
    total: float
    score: float
    state: BeamState


def beam_tree(nodes: Sequence[BeamNode], *, selected: int | None, epoch: int, key: str) -> int | None:
    """Every node under its step, best first among those of one parent; returns the index of the chosen one.

    The branch from the start to the chosen node stands out. A click on that node, or Escape, chooses nothing: None.
    `selected` counts when `epoch` is new, afterwards the user's own choice does.
    """
    chosen = mount(
        _render,
        key=key,
        props={
            "labels": [node.label for node in nodes],
            "parents": [node.parent for node in nodes],
            "steps": [node.step for node in nodes],
            "states": [node.state for node in nodes],
        },
        arrays={
            "logProbs": np.array([node.log_prob for node in nodes], np.float32),
            "totals": np.array([node.total for node in nodes], np.float32),
            "scores": np.array([node.score for node in nodes], np.float32),
        },
        value=selected,
        epoch=epoch,
    )
    return chosen if chosen is not None and chosen < len(nodes) else None
