"""Find the architectures that an unknown folder resembles, by its tensor names."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.family import Family
from headlight.model.checkpoints.folders import read_folder

ENOUGH = 0.8  # of the names that either has: of norms an architecture's variants have some more or less
MAX_NAMED = 3
NUMBER = re.compile(r"\.\d+(?=\.)")


def resembled(folder: Path, families: Mapping[str, Family[Any]]) -> list[str]:
    """Return the families with (nearly) the same tensor names as a folder; none where it cannot be read."""
    try:
        names = read_folder(folder).keys()
    except CheckpointError:
        return []
    return alike(names, families)


def alike(names: Iterable[str], families: Mapping[str, Family[Any]]) -> list[str]:
    """Return the families that have (nearly) these tensor names."""
    shares = {called: family.likeness(names) for called, family in families.items()}
    best = max(shares.values())
    return [called for called, share in shares.items() if share == best >= ENOUGH]


def listed_families(families: list[str]) -> str:
    """The first few of several families, and their number where there are more."""
    named = " or ".join(families[:MAX_NAMED])
    return named + (f" (of {len(families)})" if len(families) > MAX_NAMED else "")


def likeness(names: Iterable[str], known: Iterable[str]) -> float:
    """Jaccard similarity of two sets of tensor names, from 0 to 1.

    All layers count as one, and all experts; biases are ignored, since variants have all of them or none.
    """
    actual, expected = _kinds(names), _kinds(known)
    return len(actual & expected) / len(actual | expected)


def _kinds(names: Iterable[str]) -> set[str]:
    return {NUMBER.sub(".N", name) for name in names if not name.endswith("bias")}
