"""Type checks of values in untrusted JSON files, with plain messages about where a value is wrong."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from headlight.model.base.errors import ScanError
from headlight.model.base.files import open_file, parse_json, reason

MAX_BYTES = 32 * 2**20  # bytes of one file: HeadVis's own are about 1 MB a head
Value = TypeVar("Value")


@dataclass(frozen=True)
class JsonValue:
    """A value as it stood in a file, and the words for where: "heads/L0H1.json: sequences[3].tokens"."""

    value: Any
    where: str

    def get(self, name: str) -> "JsonValue":
        """The value of an object's key; None where it has none."""
        return JsonValue(self.object().get(name), f"{self.where}{'.' if ': ' in self.where else ': '}{name}")

    def object(self) -> Mapping[str, Any]:
        """The value as a JSON object; an empty one where there is none."""
        return self._of(dict, "an object") if self.value is not None else {}

    def entries(self) -> "Iterator[JsonValue]":
        """The entries of a list; none where there is no list."""
        listed = self._of(list, "a list") if self.value is not None else []
        return (JsonValue(entry, f"{self.where}[{place}]") for place, entry in enumerate(listed))

    def named(self) -> "Iterator[tuple[str, JsonValue]]":
        """The entries of an object with their names."""
        return ((text_of(name), JsonValue(value, f"{self.where}.{name}")) for name, value in self.object().items())

    def text(self, otherwise: str | None = None) -> str:
        """A text, in which half a character has become the sign for an unreadable one."""
        if self.value is None and otherwise is not None:
            return otherwise
        return text_of(self._of(str, "a text"))

    def number(self) -> float | None:
        """A number; None where there is none, or none that is finite."""
        if not self.is_number:
            raise self.wrong("a number or null")
        return _finite(self.value)

    @property
    def is_number(self) -> bool:
        """Whether it is a number, or none where one would stand."""
        return self.value is None or (isinstance(self.value, int | float) and not isinstance(self.value, bool))

    def some_number(self) -> float:
        """A finite number."""
        number = self.number()
        if number is None:
            raise self.wrong("a finite number")
        return number

    def whole(self, least: int, most: int) -> int:
        """A whole number of this range."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            raise self.wrong(f"a whole number from {least:,} to {most:,}")
        return self.value

    def wholes(self, least: int, most: int) -> Int[np.ndarray, " entry"]:
        """A list of whole numbers of this range."""
        listed = self._of(list, "a list") if self.value is not None else []
        if not all(type(entry) is int and least <= entry <= most for entry in listed):
            listed = [entry.whole(least, most) for entry in self.entries()]  # which says where it is not
        return np.array(listed, np.int64)

    def numbers(self) -> Float[np.ndarray, " entry"]:
        """A list of finite numbers."""
        return np.array([entry.some_number() for entry in self.entries()], np.float64)

    def if_any(self, read: "Callable[[JsonValue], Value]") -> Value | None:
        """Apply `read` to the value; None where there is none."""
        return None if self.value is None else read(self)

    def wrong(self, wanted: str) -> ScanError:
        """Error for a value of the wrong kind."""
        said = json.dumps(self.value)
        return ScanError(f"{self.where} is {said[:60]}{'…' if len(said) > 60 else ''}; it has to be {wanted}.")

    def _of(self, kind: type[Value], words: str) -> Value:
        if not isinstance(self.value, kind):
            raise self.wrong(words)
        return self.value


def read(folder: Path, name: str) -> JsonValue:
    """A JSON file of a folder, which no link may fetch from elsewhere.

    Raises:
        ScanError: it is missing, too large, a link out of the folder, or no JSON.
    """
    path = folder / name
    if not os.path.exists(path):
        raise ScanError(f"{folder.name} has no {name}. A finished scan, as a tree of HeadVis, has one.")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ScanError(f"{name} is a link out of {folder.name}, which is not followed. Copy the file into the folder.")
    if path.stat().st_size > MAX_BYTES:
        raise ScanError(f"{name} has more than {MAX_BYTES >> 20} MiB, and is not read. Sample fewer sequences a head.")
    try:
        with open_file(path, ScanError) as file:
            return JsonValue(parse_json(file.read(MAX_BYTES)), name)
    except (OSError, ValueError, RecursionError) as error:
        raise ScanError(f"{name} cannot be read as JSON ({reason(error, path)}). Copy or make it again.") from error


def text_of(text: str) -> str:
    """A text that can be written as UTF-8: halves of a character that stand together are one, others unreadable."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _finite(value: float | None) -> float | None:
    try:
        return None if value is None or not math.isfinite(value) else float(value)
    except OverflowError:  # a whole number beyond all floats
        return None
