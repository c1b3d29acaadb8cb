"""What whoever starts the server decides, by environment variable."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from model.errors import ConfigError

Value = TypeVar("Value")


@dataclass(frozen=True)
class Settings:
    """One setting a field; the environment variable is HEADLIGHT_ and the field's name in capitals.

    - model: what a newcomer sees; an embedded model, a hub name, a folder or a file.
    - allow_paths: whether the browser may open any folder, `.safetensors` file or hub name that is typed into it. Right
      for a server that only its own user reaches, wrong for one that strangers reach: set it to 0 there.
    - runs_at_once, runs_waiting: how many runs go on at a time, and how many more may wait for a place.
    - run_gib, run_seconds: what one run may take.
    - cache_gib: what the runs kept for all sessions may take together.
    """

    model: str = "mini"
    allow_paths: bool = True
    runs_at_once: int = 2
    runs_waiting: int = 8
    run_gib: float = 1.5
    run_seconds: float = 120.0
    cache_gib: float = 1.0


def from_environment() -> Settings:
    """The settings as the environment gives them, the defaults elsewhere.

    Raises:
        ConfigError: a value that cannot be read; the message names the variable.
    """
    return Settings(
        model=_read("model", str),
        allow_paths=_read("allow_paths", _switch),
        runs_at_once=_read("runs_at_once", int),
        runs_waiting=_read("runs_waiting", int),
        run_gib=_read("run_gib", float),
        run_seconds=_read("run_seconds", float),
        cache_gib=_read("cache_gib", float),
    )


def _read(name: str, parse: Callable[[str], Value]) -> Value:
    default: Value = getattr(Settings, name)
    variable = f"HEADLIGHT_{name.upper()}"
    text = os.environ.get(variable, "")
    try:
        return parse(text) if text else default
    except ValueError:
        raise ConfigError(
            f"{variable} is {text!r}; its default is {default!r}, and it has to be of that kind."
        ) from None


def _switch(text: str) -> bool:
    return bool(int(text))
