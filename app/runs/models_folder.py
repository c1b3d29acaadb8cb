"""Models folder: its entries by kind, and those that cannot be read. Listing never raises."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from headlight.app.server import boundary
from headlight.app.server.settings import settings
from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import check_regular, is_utf8, read_json
from headlight.model.checkpoints.loading import is_seq2seq
from headlight.model.checkpoints.lora_settings import CONFIG as ADAPTER_CONFIG
from headlight.model.corpus.reading import is_tree
from headlight.model.features.opening import is_dictionary
from headlight.model.text.labels import label

Value = TypeVar("Value")

LOOK_SECONDS = 2.0  # after which a new file in the models folder is seen
SPARING = 20  # times as long as a look took nobody looks again: a folder on another machine may be slow
CONFIGS = ("config.json", ADAPTER_CONFIG)
DIRECTIONS = "directions"  # a folder of kept directions
MAX_REASON = 300  # characters
GONE = "The models folder cannot be read ({}). Mount or create it again, and its models are in the list again."

_looks: dict[tuple[Callable[[Path], Any], Path], tuple[Any, float]] = {}
_looking = Lock()


@dataclass(frozen=True)
class Listing:
    """Paths by name. `unreadable` says why something is left out, by its name; `gone` why the whole folder is."""

    models: dict[str, Path] = field(default_factory=dict)
    seq2seq: dict[str, Path] = field(default_factory=dict)
    dictionaries: dict[str, Path] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    gone: str = ""


def listing() -> Listing:
    """Contents of the models folder."""
    path = folder()
    return Listing() if path is None else looked_up(_list, path)


def folder() -> Path | None:
    """The models folder, if the server has one."""
    return Path(os.path.realpath(Path(chosen).expanduser())) if (chosen := settings().models_folder) else None


def looked_up(look: Callable[[Path], Value], path: Path) -> Value:
    """Return `look`'s result for a path, cached for some seconds: a page asks often."""
    with _looking:
        value, until = _looks.get((look, path), (None, 0.0))
        if (began := time.monotonic()) >= until:
            value = look(path)
            ended = time.monotonic()
            _looks[look, path] = value, ended + max(LOOK_SECONDS, SPARING * (ended - began))
        return value


def forget() -> None:
    """Look again at the next question."""
    _looks.clear()


def _list(path: Path) -> Listing:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        return Listing(gone=GONE.format(error.strerror))
    entries = Listing()
    for name in names:
        if not name.startswith(".") and not (path / name).is_symlink():  # a link would fetch something from elsewhere
            _sort(path / name, entries)
    return entries


def _sort(path: Path, entries: Listing) -> None:
    name = path.name if is_utf8(path.name) else label(os.fsencode(path.name))

    def leave_out(reason: str) -> None:
        entries.unreadable[name] = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…"

    with boundary.guard(leave_out):
        if name != path.name:
            raise CheckpointError("Its name is not UTF-8. Rename it.")
        try:
            place = _place(path, entries)
        except OSError as error:
            raise CheckpointError(f"It cannot be read ({error.strerror}). Let the server's user read it.") from error
        if place is not None:
            place[name] = path


def _place(path: Path, entries: Listing) -> dict[str, Path] | None:
    """List that an entry belongs to; none if it is neither a model nor a dictionary.

    Raises:
        HeadlightError: it cannot be read.
        OSError: it may not be read.
    """
    if not path.is_dir():
        if path.suffix not in (".safetensors", ".gguf"):
            return None
        check_regular(path)
        return entries.models
    os.listdir(path)
    if is_tree(path) or (path.name == DIRECTIONS and not any(os.path.lexists(path / config) for config in CONFIGS)):
        return None
    if is_dictionary(path):
        return entries.dictionaries
    for config in CONFIGS:
        if os.path.lexists(path / config):  # also where it is none, which would look like a folder without one
            read_json(path / config)
    return entries.seq2seq if is_seq2seq(path) else entries.models
