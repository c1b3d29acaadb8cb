"""A, B and B - A: what the three are called, and the one way in which all that both runs have is subtracted."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from headlight.model.analysis import Measure

Values = TypeVar("Values", bound=Any)

Side = Literal["a", "b", "difference"]
DIFFERENCE = "B - A"
SIDES: dict[str, Side] = {"A": "a", "B": "b", DIFFERENCE: "difference"}


def sides_of(compared: bool) -> dict[str, Side]:
    """The sides that there are, by name: A alone, or A, B and B - A."""
    return SIDES if compared else {"A": "a"}


def subtract(a: Values, b: Values) -> Values:
    """B - A.

    Of mappings for the names that both have, of measures, tensors and arrays for the layers, heads or other rows that
    both have, and else as the values themselves subtract.
    """
    change: Any
    if isinstance(a, Mapping):
        change = {name: subtract(value, b[name]) for name, value in a.items() if name in b}
    elif isinstance(a, Measure):
        change = Measure(f"change of {a.name}", a.unit, a.axes, subtract(a.values, b.values))
    elif hasattr(a, "shape"):
        common = tuple(slice(min(sizes)) for sizes in zip(a.shape, b.shape, strict=True))
        change = b[common] - a[common]
    else:
        change = b - a
    return change


def with_difference(sides: Mapping[str, Values], name: str = DIFFERENCE) -> dict[str, Values]:
    """A quantity of A and, where there is a B, that of B and B - A, which is called `name`."""
    return {**sides, name: subtract(sides["A"], sides["B"])} if len(sides) > 1 else dict(sides)
