"""Names of A, B and B - A, and subtraction of two runs' numbers.

States, such as the norm after a layer, are subtracted where both runs have them. Parts of a sum are matched by name,
and one that a run lacks counts as 0 in it, so that the differences of all parts add up to the difference of the sums.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.alignment import on_axis

Values = TypeVar("Values", bound=Any)
Name = TypeVar("Name", bound=Hashable)

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


def union(a: Sequence[Name], b: Sequence[Name]) -> tuple[Name, ...]:
    """The names in A or in B, in the order of A; each that B alone has stands behind the one that it follows in B."""
    known, last = set(a), None
    behind: dict[Name | None, list[Name]] = {}
    for name in b:
        if name in known:
            last = name
        else:
            behind.setdefault(last, []).append(name)
    return (*behind.get(None, ()), *(each for name in a for each in (name, *behind.get(name, ()))))


def by_name(
    values: Float[Tensor, "part *rest"], own: Sequence[Name], names: Sequence[Name], absent: float
) -> Float[Tensor, "name *rest"]:
    """Values [part, ...] with these names in place of their own, `absent` where there is no such part."""
    places = {name: place for place, name in enumerate(own)}
    return on_axis(values, [places.get(name) for name in names], absent, dims=(0,))


def subtract_parts(a: Mapping[Name, float], b: Mapping[Name, float]) -> dict[Name, float]:
    """B - A of the parts of two sums: a missing one counts as 0."""
    return {name: b.get(name, 0.0) - a.get(name, 0.0) for name in union(list(a), list(b))}


def with_difference(
    sides: Mapping[str, Values], name: str = DIFFERENCE, change: Callable[[Values, Values], Values] = subtract
) -> dict[str, Values]:
    """A quantity of A and, where there is a B, that of B and B - A, which is called `name`."""
    return {**sides, name: change(sides["A"], sides["B"])} if len(sides) > 1 else dict(sides)
