"""A first visitor's tour: a card in the corner that goes from part to part of the page, once per browser."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.app.components.shared.mount import mount, register

_render = register(__file__)


@dataclass(frozen=True)
class Step:
    """Stop of the tour: the key of the part of the page that it frames, and its text."""

    part: str
    title: str
    text: str


def tour(steps: Sequence[Step], *, key: str, requests: int, begins: bool) -> None:
    """The tour, if it `begins` in a browser that has not seen it yet, or if `requests` has grown.

    It covers nothing that has to be clicked, and Escape or its button ends it for good.
    """
    mount(
        _render,
        key=key,
        props={"steps": [(step.part, step.title, step.text) for step in steps], "requests": requests, "begins": begins},
    )
