"""The folder of a scan: which files in it a scan writes, whose folder it is, and how it is emptied.

A folder is ours if it holds the identity that a scan leaves there: in `.scan` while it goes on, in config.json once
there is a tree. Nothing is written over, and nothing removed, in any other; and of ours nothing but what a scan writes.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headlight.model.base.errors import HeadlightError, ScanError
from headlight.model.base.files import PART, read_json, remove
from headlight.model.corpus.tree import CONFIG, HEADS, SCATTER

WORK, IDENTITY = ".scan", "identity.json"
SERVER, MANIFEST, UNITS = "server_config.json", "attributions/manifest.json", "units"
# Files of a scan by its subfolders, in the order of removal: files that identify the folder as a scan's, and folders
# with subfolders, come last.
WRITTEN = {
    HEADS: r"L\d+H\d+\.json",
    "attributions": r"manifest\.json",
    f"{UNITS}/neurons": r"L\d+\.safetensors",
    f"{UNITS}/features": r"L\d+\.safetensors",
    UNITS: "",
    "": "|".join(map(re.escape, (SERVER, SCATTER, CONFIG))),
    WORK: r"warm\.npz|state\.npz|shard-\d+\.npz|identity\.json",
}
LAST = (IDENTITY, CONFIG)
ANOTHER = "Give a new folder, or that of a scan, by --out."


def identity_of(folder: Path) -> Mapping[str, Any] | None:
    """Return the identity of the scan in a folder; None where there is no scan of ours."""
    known, config = folder / WORK / IDENTITY, folder / CONFIG
    try:
        identity = read_json(config)["headlight"]["identity"] if os.path.lexists(config) else read_json(known)
    except (HeadlightError, LookupError, TypeError):
        return None
    return identity if isinstance(identity, dict) and {"model", "corpus", "settings"} <= identity.keys() else None


def check_folder(folder: Path) -> None:
    """Refuse a place where a scan would overwrite files that are not a scan's.

    Raises:
        ScanError: it is no folder, or holds files with the names that a scan writes, and no scan of ours.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise ScanError(f"{folder} is no folder, and a scan writes one. {ANOTHER}")
    names = [str(path.relative_to(folder)) for path in _written(folder) if path.suffix != PART]
    if names and identity_of(folder) is None:
        raise ScanError(
            f"{folder} holds no scan of ours, but {_listed(names)}, which a scan would write over. {ANOTHER}"
        )


def empty(folder: Path) -> None:
    """Remove a scan's files from a folder; all other files stay.

    Raises:
        ScanError: the folder holds something, and no scan of ours, or links in the places of a scan's files.
    """
    check_folder(folder)
    if identity_of(folder) is None:
        if folder.is_dir() and (names := [path.name for path in folder.iterdir() if path.name != WORK]):
            raise ScanError(
                f"{folder} holds {_listed(names)} and no scan of ours, so nothing there is removed. {ANOTHER}"
            )
        return
    if links := [str(path.relative_to(folder)) for path in _links(folder)]:
        raise ScanError(
            f"{_listed(links)} in {folder} leads elsewhere, where nothing is removed. Remove the link, or give another "
            "folder by --out."
        )
    clear(folder, *WRITTEN)


def clear(folder: Path, *within: str) -> None:
    """Remove a scan's files from its named subfolders, and those that are empty afterwards."""
    for name in within:
        for path in _written(folder, name):
            remove(path)
        if name and (folder / name).is_dir() and not any((folder / name).iterdir()):
            remove(folder / name)


def _written(folder: Path, *within: str) -> Iterator[Path]:
    """Existing files of a scan, finished or not; those that identify the folder as a scan's come last."""
    for name in within or WRITTEN:
        kept = re.compile(rf"{WRITTEN[name]}|\.({WRITTEN[name]}){re.escape(PART)}")
        there = sorted((folder / name).iterdir()) if WRITTEN[name] and (folder / name).is_dir() else []
        yield from sorted((path for path in there if kept.fullmatch(path.name)), key=lambda path: path.name in LAST)


def _links(folder: Path) -> Iterator[Path]:
    places = [folder / name for name in WRITTEN if name]
    yield from (path for path in (*places, *_written(folder)) if path.is_symlink())


def _listed(names: list[str]) -> str:
    return ", ".join(sorted(names)[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
