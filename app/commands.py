"""What the commands have in common: flags of settings and of engines, and the exit status."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from headlight.app.server.flags import flag
from headlight.model.base.errors import HeadlightError

STOPPED = 130  # what a shell gives for a command that was interrupted


def add_source_flags(parser: ArgumentParser, out: str) -> None:
    """Flags of the folder that is written, and of what is read from the hub."""
    parser.add_argument("--out", type=Path, help=f"the folder to write (default: {out})")
    parser.add_argument("--split", default="train", help="the part of a data set of the hub (default: train)")
    parser.add_argument("--revision", help="a branch, tag or commit of a model of the hub")


def add_engine_flags(parser: ArgumentParser, parts: str) -> None:
    """Flags of who computes the parts of the work."""
    parser.add_argument("--engine", choices=("processes", "ray"), default="processes", help=f"who computes the {parts}")
    parser.add_argument("--workers", type=int, default=1, help="how many; of several each has one thread (default: 1)")
    parser.add_argument("--ray-address", help="the cluster to compute on; without it Ray starts one on this machine")
    parser.add_argument("--restart", action="store_true", help="forget what is there, finished or not, and begin anew")


def add_settings(parser: ArgumentParser, settings: type[Any], more: Mapping[str, Sequence[str]] | None = None) -> None:
    """One flag for each field of the settings' class, with further choices for some of them by name."""
    for field in fields(settings):
        if field.default is False:
            parser.add_argument(flag(field.name), action="store_true", help=field.metadata["meaning"])
        else:
            _add_value(parser, field, (more or {}).get(field.name, ()))


def _add_value(parser: ArgumentParser, field: "Field[Any]", more: Sequence[str]) -> None:
    kind: Any = type(field.default)
    choices = (0, 1) if kind is bool else field.metadata.get("one_of")
    parser.add_argument(
        flag(field.name),
        type=int if kind is bool else kind,
        choices=choices and (*choices, *more),
        default=field.default,
        help=f"{field.metadata['meaning']} (default: {field.default})",
    )


def run_command(what: str, run: Callable[[], str]) -> int:
    """Run a command that can be stopped and resumed, print what it returns, and return the exit status."""
    try:
        print(run())
    except HeadlightError as error:
        print(f"The {what} cannot go on. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return STOPPED
    return 0
