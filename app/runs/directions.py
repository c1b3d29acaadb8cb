"""The directions that are kept: by a session in memory, and by name as files that outlive the server.

The files lie in the folder `directions` of the models folder or, on a server for this machine alone that has none, of
the user's data. All sessions see them; only a server for this machine alone writes and removes them.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

import streamlit as st

from headlight.app.runs import models, models_folder
from headlight.app.runs.limits import GIB, ByteCache
from headlight.app.runs.models_folder import DIRECTIONS
from headlight.app.server import boundary
from headlight.model.base.errors import InputError
from headlight.model.directions.files import open_direction
from headlight.model.directions.keeping import file_name, is_kept, keep_direction, kept_files, remove_kept
from headlight.model.runs.direction import MARK, Direction
from headlight.model.runs.edits import Edit, EditDirection

DATA = "XDG_DATA_HOME"  # the user's own data, by the XDG base directory specification
MAX_BYTES = GIB // 4  # of all that are kept, of which the least recently used go first
MAX_FILES = 200
NAMES = "directions.kept"  # of the session


@dataclass(frozen=True)
class Files:
    """The files of directions: each with its direction, by identity, and why others cannot be read."""

    directions: dict[str, tuple[Path, Direction]] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()


def folder() -> Path | None:
    """Where directions lie as files, whether or not it exists; None where they are kept in memory alone."""
    if (of_models := models_folder.folder()) is not None:
        return of_models / DIRECTIONS
    if not models.any_model_allowed():
        return None
    return Path(os.environ.get(DATA) or "~/.local/share").expanduser() / "headlight" / DIRECTIONS


def files() -> Files:
    """The files in that folder."""
    path = folder()
    return Files() if path is None else models_folder.looked_up(_list, path)


def _list(path: Path) -> Files:
    listing, reasons = Files(), list[str]()
    with boundary.guard(reasons.append):
        for file in islice(kept_files(path), MAX_FILES):
            with boundary.guard(reasons.append):
                status = file.stat()
                direction = _read(file, status.st_mtime_ns, status.st_size)
                listing.directions.setdefault(direction.identity, (file, direction))
    return replace(listing, unreadable=tuple(reasons))


@lru_cache(MAX_FILES)
def _read(path: Path, changed: int, size: int) -> Direction:
    return open_direction(path)


@lru_cache(1)
def _opened() -> ByteCache:
    return ByteCache(MAX_BYTES, lambda direction: sum(vector.nbytes for vector in direction.vectors.values()))


def may_write() -> bool:
    """Whether directions can be kept as files, and removed: on a server for this machine's users alone."""
    return models.any_model_allowed()


def keep(direction: Direction) -> str:
    """Keep a direction and list it for this session; return its identity, by which edits name it."""
    identity = direction.identity
    _opened().get(identity, lambda: direction)
    names: list[str] = st.session_state.setdefault(NAMES, [])
    if identity not in names:
        names.append(identity)
    return identity


def save(direction: Direction) -> str:
    """Keep a direction, as a file where that is allowed; return its identity.

    Raises:
        HeadlightError: another direction has a file of that name, or the folder cannot be written to.
    """
    path = folder()
    if path is None or not may_write():
        return keep(direction)
    if direction.identity not in files().directions:
        keep_direction(direction, path)
        models_folder.forget()
    return direction.identity


def can_remove(identity: str) -> bool:
    """Whether a kept direction may be removed: one of the session, or a file that was kept by this page."""
    if identity not in (listed := files().directions):
        return identity in st.session_state.get(NAMES, [])
    return may_write() and is_kept(listed[identity][0])


def remove(identity: str) -> None:
    """Remove a kept direction and its file; edits that name it go on working until the server ends.

    Raises:
        HeadlightError: its file was written by somebody else, or cannot be removed.
    """
    if identity in (listed := files().directions) and may_write():
        path, direction = listed[identity]
        _opened().get(identity, lambda: direction)
        remove_kept(path)
        models_folder.forget()
    st.session_state[NAMES] = [each for each in st.session_state.get(NAMES, []) if each != identity]


def kept() -> dict[str, Direction]:
    """The directions of files, and the session's that are still open, by identity."""
    of_session = {identity: _opened().find(identity) for identity in st.session_state.get(NAMES, [])}
    return {
        **{identity: direction for identity, (_, direction) in files().directions.items()},
        **{identity: direction for identity, direction in of_session.items() if direction is not None},
    }


def opened(identity: str) -> Direction:
    """The direction of an identity.

    Raises:
        InputError: it is not open on this server.
    """
    direction: Direction | None = _opened().find(identity)
    if direction is None and identity in (listed := files().directions):
        _, direction = listed[identity]
    if direction is None:
        raise InputError(
            f"The direction {identity.partition(MARK)[0][:80]!r} is not open on this server. Open its file on the page "
            "Directions, or find it there again."
        )
    return direction


def of_edits(edits: Sequence[Edit]) -> dict[str, Direction]:
    """The directions that edits name, by identity.

    Raises:
        InputError: one is not open on this server.
    """
    return {edit.direction: opened(edit.direction) for edit in edits if isinstance(edit, EditDirection)}


def told_by(identity: str) -> str:
    """Argument of `open_direction` in a script: the kept file where the user may know its path, or the saved one."""
    listed = files().directions
    return str(listed[identity][0]) if identity in listed and may_write() else file_of(identity)


def file_of(identity: str) -> str:
    """The name of the file in which a direction is downloaded."""
    return file_name(identity.partition(MARK)[0])
