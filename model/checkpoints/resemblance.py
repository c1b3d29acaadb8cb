"""Which architectures a folder resembles whose own is not known, by the names of its tensors."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.family import Family
from headlight.model.checkpoints.tensors import read_folder

ENOUGH = 0.8  # of the names that either has: of norms an architecture's variants have some more or less
NUMBER = re.compile(r"\.\d+(?=\.)")


def resembled(folder: Path, families: Mapping[str, Family[Any]]) -> list[str]:
    """The families whose tensors have the same names as a folder's, or nearly; none where it cannot be read."""
    try:
        names = read_folder(folder).keys()
    except CheckpointError:
        return []
    shares = {called: family.likeness(names) for called, family in families.items()}
    best = max(shares.values())
    return [called for called, share in shares.items() if share == best >= ENOUGH]


def likeness(names: Iterable[str], known: Iterable[str]) -> float:
    """The share of names that both have of those that either has, from 0 to 1.

    Layers, and experts, count as one; biases do not count, of which variants have all or none.
    """
    found, expected = _kinds(names), _kinds(known)
    return len(found & expected) / len(found | expected)


def _kinds(names: Iterable[str]) -> set[str]:
    return {NUMBER.sub(".N", name) for name in names if not name.endswith("bias")}
