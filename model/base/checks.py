"""Checks of single settings: a size, a number, a share or one of some values."""

import sys
from collections.abc import Iterable
from dataclasses import fields

from headlight.model.base.errors import ConfigError, nearest

MAX_FLOAT32 = 3.4028234663852886e38  # torch reads no larger number for a float32 tensor
TOO_LARGE = 2**31  # for any size; no model comes near it, and floating point can still take what is below


def positive(name: str, number: object) -> float:
    """A setting that is a number greater than 0 and finite.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number <= sys.float_info.max:
        raise ConfigError(f"{name} is {number!r}; it has to be a number greater than 0, and finite.")
    return float(number)


def check_size(name: str, size: object) -> None:
    """Refuse a size that is not a whole number of at least 1."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size < TOO_LARGE:
        raise ConfigError(f"{name} is {size!r}; it has to be a whole number of at least 1, but below 2^31.")


def check_dropout(dropout: object) -> None:
    """Refuse a dropout that is not a share below 1."""
    if not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise ConfigError(f"dropout is {dropout!r}; it has to be a number from 0 up to, but not including, 1.")


def check_choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a setting that is none of the values allowed."""
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}; it can be one of {', '.join(map(repr, allowed))}.")


def check_names(kind: type, names: Iterable[str]) -> None:
    """Refuse a setting that a kind of config does not have."""
    allowed = [field.name for field in fields(kind)]
    for name in names:
        if name not in allowed:
            raise ConfigError(f"There is no setting {name!r}.{nearest(name, allowed)} They are {', '.join(allowed)}.")
