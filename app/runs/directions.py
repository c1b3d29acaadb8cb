"""The directions that sessions keep: by identity for the runs of all, by name for the session that keeps them."""

import re
from collections.abc import Sequence
from functools import lru_cache

import streamlit as st

from headlight.app.runs.limits import GIB, ByteCache
from headlight.model.base.errors import InputError
from headlight.model.runs.direction import MARK, Direction
from headlight.model.runs.edits import Edit, EditDirection

MAX_BYTES = GIB // 4  # of all that are kept, of which the least recently used go first
NAMES = "directions.kept"  # of the session


@lru_cache(1)
def _opened() -> ByteCache:
    return ByteCache(MAX_BYTES, lambda direction: sum(vector.nbytes for vector in direction.vectors.values()))


def keep(direction: Direction) -> str:
    """Keep a direction and list it for this session; return its identity, by which edits name it."""
    identity = direction.identity
    _opened().get(identity, lambda: direction)
    names: list[str] = st.session_state.setdefault(NAMES, [])
    if identity not in names:
        names.append(identity)
    return identity


def remove(identity: str) -> None:
    """List a direction no more; edits that name it go on working."""
    st.session_state[NAMES] = [each for each in st.session_state.get(NAMES, []) if each != identity]


def kept() -> dict[str, Direction]:
    """The session's directions that are still open, by identity."""
    found = {identity: _opened().find(identity) for identity in st.session_state.get(NAMES, [])}
    return {identity: direction for identity, direction in found.items() if direction is not None}


def opened(identity: str) -> Direction:
    """The direction of an identity.

    Raises:
        InputError: it is not open on this server.
    """
    direction: Direction | None = _opened().find(identity)
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


def file_of(identity: str) -> str:
    """The name of the file in which a direction is downloaded."""
    stem = re.sub(r"[^\w-]+", "_", identity.partition(MARK)[0]).strip("_")[:80]
    return f"{stem or 'direction'}.safetensors"
