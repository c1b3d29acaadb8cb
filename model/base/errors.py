"""Errors that a user can cause; each message names the input, what is allowed and what to do next."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TypeVar

Value = TypeVar("Value")

MAX_NAMES = 12  # of files in a message


class HeadlightError(Exception):
    """Base class of all errors that a user can cause; the message says what to do next."""


class ConfigError(HeadlightError):
    """A model's settings are missing, contradictory or not supported."""


class CheckpointError(HeadlightError):
    """A checkpoint cannot be read, or its tensors do not match its settings."""


class ModelNotFoundError(HeadlightError):
    """No model of that name is embedded, on the disk or to be had from the hub."""


class TooLargeError(HeadlightError):
    """A model that would take more memory, or disk, than there is."""


class InputError(HeadlightError):
    """A prompt, or token ids, that the model cannot take."""


class UnknownWordsError(InputError):
    """Words of a text that a model's vocabulary lacks."""


class NotFiniteError(HeadlightError):
    """A pass whose numbers become infinite, or no numbers at all."""


class TrainingError(HeadlightError):
    """Training data that cannot be used, or a run that cannot begin or go on."""


class ScanError(HeadlightError):
    """A scan of a corpus that cannot be read, begun or gone on with."""


class WriteError(HeadlightError):
    """A file that cannot be written: the disk is full, or its folder is not ours to write to."""


class HookError(HeadlightError):
    """An activation name that the model does not have, or a hook function that returns the wrong thing."""


@contextmanager
def exit_on_error() -> Iterator[None]:
    """End a command with the message of an error that its user can mend, in place of a traceback; also a decorator."""
    try:
        yield
    except HeadlightError as error:
        sys.exit(str(error))


@contextmanager
def naming(files: Iterable[str]) -> Iterator[None]:
    """Name the files that were read in errors about their contents.

    A tensor is called by its name, and what it is of by its kind; where it contradicts the settings, either may be
    wrong.
    """
    try:
        yield
    except (CheckpointError, ConfigError) as error:
        names = sorted(set(files))
        if not names or any(name in str(error) for name in names):
            raise
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        raise type(error)(f"{error} Read from {', '.join(names[:MAX_NAMES])}{more}.") from error


def by_side(sides: Iterable[str], make: Callable[[str], Value]) -> tuple[dict[str, Value], dict[str, str]]:
    """The results of the sides A and B that have one, and the messages that say why others have none."""
    made, failures = dict[str, Value](), dict[str, str]()
    for side in sides:
        try:
            made[side] = make(side)
        except HeadlightError as error:
            failures[side] = str(error)
    return made, failures


def nearest(name: str, allowed: Iterable[str]) -> str:
    """The allowed names most similar to a wrong one, as a phrase for an error message; empty when none is close."""
    close = get_close_matches(name, list(allowed), n=3, cutoff=0.5)
    return f" Nearest: {', '.join(close)}." if close else ""
