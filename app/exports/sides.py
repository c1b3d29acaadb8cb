"""What the files' tables and arrays of A, B and B - A are called."""

from collections.abc import Mapping

from headlight.model.analysis import Measure
from headlight.model.analysis.difference import DIFFERENCE
from headlight.model.fields import Side
from headlight.model.reports.tables import columns, number

__all__ = ["DIFFERENCE", "SIDES", "columns", "named", "number"]

SIDES: dict[str, Side] = {"A": "a", "B": "b", DIFFERENCE: "difference"}


def named(name: str, found: Mapping[str, Measure]) -> dict[str, Measure]:
    """The sides as entries of an npz file."""
    return {f"{side.replace(' ', '')} {name}": measure for side, measure in found.items()}
