"""Named numbers in a grid, each with half its interval and, where it is said, its place among others."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.app.components.shared.mount import mount, register

_render = register(__file__)


@dataclass(frozen=True)
class NamedNumber:
    """A number as it is written, with its name, what stands behind it, and the `others` that it is one of.

    The others are shares of a strip's width, `at` is its own.
    """

    name: str
    value: str
    half: str = ""
    others: Sequence[float] = ()
    at: float | None = None


def number_grid(numbers: Sequence[NamedNumber], *, others: str, key: str) -> None:
    """Show the numbers; `others` says what a strip is of."""
    mount(_render, key=key, props={"numbers": [vars(number) for number in numbers], "others": others})
