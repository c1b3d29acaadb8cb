"""B - A, of whatever both runs have."""

from collections.abc import Mapping
from typing import Any, TypeVar

from headlight.model.analysis import Measure

Values = TypeVar("Values", bound=Any)  # tensors or arrays

DIFFERENCE = "B - A"


def subtract(a: Values, b: Values) -> Values:
    """B - A, for the layers, heads or other rows that both have."""
    common = tuple(slice(min(sizes)) for sizes in zip(a.shape, b.shape, strict=True))
    return b[common] - a[common]


def difference(a: Measure, b: Measure) -> Measure:
    """How much larger a measured quantity is in B than in A, for the layers, heads or other rows that both have."""
    return Measure(f"change of {a.name}", a.unit, a.axes, subtract(a.values, b.values))


def with_difference(sides: Mapping[str, Measure]) -> dict[str, Measure]:
    """A measure of A and, where there is a B, its measure and the difference."""
    return {**sides, DIFFERENCE: difference(sides["A"], sides["B"])} if len(sides) > 1 else dict(sides)
