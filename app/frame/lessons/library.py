"""The lessons that there are: those that ship, and one that a link or a file brings."""

import base64
import binascii
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headlight.app.frame.lessons.lesson import MAX_CHARACTERS, Lesson, read_lesson
from headlight.app.runs import models
from headlight.model.base.errors import InputError

LESSONS = Path(__file__).parents[3] / "assets" / "lessons"
INSTEAD = "mini"  # the folder of lessons for where a lesson's own model is not installed
IN_LINK = "~"  # begins a lesson that is in the address itself
MAX_IN_LINK = 6_000  # characters


@dataclass(frozen=True)
class Shelved:
    """A lesson with its name in the address."""

    name: str
    lesson: Lesson


@cache
def _read(path: Path) -> Lesson:
    return read_lesson(path.read_text(encoding="utf-8"))


def shipped() -> tuple[Shelved, ...]:
    """The lessons that ship, each for a model that is here, in the order in which they build on each other."""
    return tuple(Shelved(path.stem.partition("-")[2], _read(_for_models_here(path))) for path in _files())


def _files() -> list[Path]:
    return sorted(LESSONS.glob("*.md"))


def _for_models_here(path: Path) -> Path:
    instead = path.parent / INSTEAD / path.name
    return instead if instead.exists() and not models.is_installed(_read(path).model) else path


def open_lesson(name: str) -> Shelved:
    """The lesson of this name, or the one that a link holds.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    if name.startswith(IN_LINK):
        return Shelved(name, read_lesson(_unpacked(name)))
    for shelved in shipped():
        if shelved.name == name:
            return shelved
    names = ", ".join(shelved.name for shelved in shipped())
    raise InputError(f"There is no lesson {name[:60]!r}. There are {names}.")


def in_link(text: str) -> str:
    """A lesson's text as it stands in a link; empty where it is too long for one."""
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return IN_LINK + packed if len(packed) <= MAX_IN_LINK else ""


def _unpacked(name: str) -> str:
    packed, unpacking = name.removeprefix(IN_LINK), zlib.decompressobj()
    try:
        raw = unpacking.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), 4 * MAX_CHARACTERS)
        if unpacking.eof:
            return raw.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        pass
    raise InputError("The lesson in this link is incomplete. Copy the whole link, or open the lesson's file.")
