"""Writing step by step: the written tokens as chips, and for one of them the tokens that it was chosen from as bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from headlight.app.components.shared.mount import component_value, mount, register

LONGEST_TAIL = 24  # tokens of the prompt

_render = register(__file__)


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
    is_given: bool
    log_prob: float
    entropies: tuple[float, float]
    choices: Sequence[TokenChoice]


@dataclass(frozen=True)
class Beside:
    """A run B beside the first one.

    `own` is what it writes by itself: each token's label and log-probability (nats). `steps` are compared with the
    first ones of A, over the same choices in the same order; `apart` says how far the two distributions are from each
    other, before and after the cuts (nats).
    """

    prompt: Sequence[str]
    own: Sequence[tuple[str, float]]
    steps: Sequence[WritingStep]
    apart: Sequence[tuple[float, float]]


class StepClick(NamedTuple):
    """The step that is looked at, from 0, and the token that the user wants there instead, if any."""

    step: int
    token: int | None = None


def clicked(step: int, epoch: int, key: str) -> StepClick:
    """The last action in the component if it is newer than `step`."""
    return StepClick(*component_value(key, epoch, StepClick(step)))


@dataclass(frozen=True, eq=False)
class TokenBars:
    """The prompt's tokens, the steps that were written after it, and a run B `beside` them.

    `queries` are the places whose rows wrote the steps' tokens, and `step` is the one whose bars are seen first.
    """

    prompt: Sequence[str]
    steps: Sequence[WritingStep]
    queries: Sequence[int]
    step: int
    beside: Beside | None = None


def token_bars(drawn: TokenBars, *, epoch: int, key: str, group: str, in_file: bool = False) -> None:
    """Show the prompt's tail, a chip for each step, and the bars of one; a click on a bar asks for that token instead.

    `clicked` tells what the user did. Components of the same `group` pin the one of the `queries` that wrote the token
    of the step. With B there are its text, how far it is from A at each step, and its bars and B - A beside those of A.
    A file has no server, so only steps can be chosen there.
    """
    steps, beside = drawn.steps, drawn.beside
    mount(
        _render,
        key=key,
        group=group,
        props={
            "prompt": list(drawn.prompt[-LONGEST_TAIL:]),
            "nPrompt": len(drawn.prompt),
            "labels": [each.label for each in steps],
            "inserted": [each.is_given for each in steps],
            "choices": [[choice.label for choice in each.choices] for each in steps],
            "queries": list(drawn.queries),
            "beside": beside and _beside_props(beside),
            "inFile": in_file,
        },
        arrays=_arrays(steps) if beside is None else {**_arrays(steps), **_beside_arrays(beside)},
        value=list(StepClick(drawn.step)),
        epoch=epoch,
    )


def _arrays(steps: Sequence[WritingStep]) -> dict[str, np.ndarray]:
    choices = [each.choices for each in steps]
    return {
        "written": np.array([each.token for each in steps], np.int32),
        "numbers": np.array([(each.log_prob, *each.entropies) for each in steps], np.float32).reshape(-1, 3),
        "tokens": _of_choices(choices, "token", np.int32),
        "ranks": _of_choices(choices, "rank", np.int32),
        "before": _of_choices(choices, "before", np.float32),
        "after": _of_choices(choices, "after", np.float32),
    }


def _of_choices(choices: Sequence[Sequence[TokenChoice]], name: str, kind: type) -> np.ndarray:
    across = len(choices[0]) if choices else 0
    return np.array([[getattr(choice, name) for choice in each] for each in choices], kind).reshape(-1, across)


def _beside_props(beside: Beside) -> Mapping[str, Any]:
    return {
        "prompt": list(beside.prompt[-LONGEST_TAIL:]),
        "nPrompt": len(beside.prompt),
        "own": [label for label, _ in beside.own],
        "labels": [each.label for each in beside.steps],
    }


def _beside_arrays(beside: Beside) -> dict[str, np.ndarray]:
    own = np.array([log_prob for _, log_prob in beside.own], np.float32)
    apart = np.array(beside.apart, np.float32).reshape(-1, 2)
    return {"b.own": own, "b.apart": apart, **{f"b.{name}": array for name, array in _arrays(beside.steps).items()}}
