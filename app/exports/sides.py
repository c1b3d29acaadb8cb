"""What the files' arrays of A, B and B - A are called."""

from collections.abc import Mapping

from headlight.model.analysis import Measure


def named(name: str, found: Mapping[str, Measure]) -> dict[str, Measure]:
    """The sides as entries of an npz file."""
    return {f"{side.replace(' ', '')} {name}": measure for side, measure in found.items()}
