"""A first visitor's tour: attention in 45 seconds on the live picture, and a card that goes from part to part."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headlight.app.components.shared.mount import component_value, mount, register

_render = register(__file__)


@dataclass(frozen=True)
class Step:
    """Stop of the tour: the key of the part of the page that it frames, and its text."""

    part: str
    title: str
    text: str


def tour(
    steps: Sequence[Step],
    *,
    key: str,
    requests: int,
    begins: bool,
    minute: Mapping[str, Any] | None = None,
    is_ready: bool = True,
    hear: Callable[[Any], None] = lambda said: None,
) -> None:
    """The tour, if it `begins` in a browser that has not seen it yet, or if `requests` has grown.

    The browser then asks, which `hear` is called with, for what is told of the run, the `minute`. Where that is ready
    and there is none, the steps begin. It covers nothing that has to be clicked. Escape or its button ends it for good,
    as do another page and another run.
    """
    mount(
        _render,
        key=key,
        props={
            "steps": [(step.part, step.title, step.text) for step in steps],
            "requests": requests,
            "begins": begins,
            "minute": minute,
            "isReady": is_ready,
        },
        group="attention",
        changed=lambda: hear(component_value(key, 0, None)),
    )
