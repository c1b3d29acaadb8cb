"""Writing step by step: the written tokens as chips, and for one of them the tokens that it was chosen from as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from app.components.shared.mount import held, mount, register

LONGEST_TAIL = 24  # tokens of the prompt

_render = register(Path(__file__).parent)


@dataclass(frozen=True)
class TokenChoice:
    """A token that could be written: id, label, rank from 1, and its probability before and after the cuts."""

    token: int
    label: str
    rank: int
    before: float
    after: float


@dataclass(frozen=True)
class WritingStep:
    """A token that was written, whether the user put it there, and the likeliest that could have been, itself included.

    `log_prob` is the model's own and `entropies` are those before and after temperature and cuts, in nats.
    """

    token: int
    label: str
    given: bool
    log_prob: float
    entropies: tuple[float, float]
    choices: Sequence[TokenChoice]


class StepClick(NamedTuple):
    """The step that is looked at, from 0, and the token that the user wants there instead, if any."""

    step: int
    token: int | None = None


def clicked(step: int, epoch: int, key: str) -> StepClick:
    """What the user last did in the component if that is newer than `step`."""
    return StepClick(*held(key, epoch, StepClick(step)))


def token_bars(
    prompt: Sequence[str],
    steps: Sequence[WritingStep],
    *,
    step: int,
    epoch: int,
    key: str,
    group: str,
    in_file: bool = False,
) -> None:
    """The prompt's tail, a chip for each step, and the bars of one; a click on a bar asks for that token instead.

    `clicked` tells what the user did. Components of the same `group` pin the query that wrote the token of the step,
    which is the position before it. In a file nobody hears what is asked for, so that only steps are chosen there.
    """
    choices = [each.choices for each in steps]
    mount(
        _render,
        key=key,
        group=group,
        props={
            "prompt": list(prompt[-LONGEST_TAIL:]),
            "nPrompt": len(prompt),
            "labels": [each.label for each in steps],
            "given": [each.given for each in steps],
            "choices": [[choice.label for choice in each] for each in choices],
            "inFile": in_file,
        },
        arrays={
            "written": np.array([each.token for each in steps], np.int32),
            "numbers": np.array([(each.log_prob, *each.entropies) for each in steps], np.float32),
            "tokens": np.array([[choice.token for choice in each] for each in choices], np.int32),
            "ranks": np.array([[choice.rank for choice in each] for each in choices], np.int32),
            "before": np.array([[choice.before for choice in each] for each in choices], np.float32),
            "after": np.array([[choice.after for choice in each] for each in choices], np.float32),
        },
        value=list(StepClick(step)),
        epoch=epoch,
    )
