"""Arrays by their names, and lists of arrays of unequal length among them, as the bytes of one file and back."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from jaxtyping import Shaped

from headlight.model.base.errors import ScanError

Arrays = Mapping[str, Shaped[np.ndarray, "..."]]


def packed(arrays: Arrays) -> bytes:
    """The arrays as a file of numpy's."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpacked(data: bytes, name: str) -> Arrays:
    """Restore the arrays that were `packed`.

    Raises:
        ScanError: the bytes are no such file.
    """
    with refusing_damage(name), np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
        if not all(isinstance(each, np.ndarray) for each in arrays.values()):  # numpy gives what is no array as bytes
            raise ValueError("an entry is no array")
        return arrays


@contextmanager
def refusing_damage(name: str, what_to_do: str = "Delete it, and scan again.") -> Iterator[None]:
    """Whatever Python raises while a scan's own file is read, or taken apart.

    Raises:
        ScanError: it names the file.
    """
    try:
        yield
    except ScanError:
        raise
    except Exception as error:  # a cut file, a name that is not there, an array of another shape
        raise ScanError(f"{name} is damaged ({type(error).__name__}: {error}). {what_to_do}") from error


def by_prefix(arrays: Arrays) -> Mapping[str, Arrays]:
    """Arrays with names such as "neurons.0:sums", grouped by the part before the colon."""
    groups: dict[str, dict[str, Shaped[np.ndarray, ...]]] = {}
    for name, each in arrays.items():
        first, colon, rest = name.partition(":")
        if colon:
            groups.setdefault(first, {})[rest] = each
    return groups


def end_to_end(name: str, rows: Sequence[Shaped[np.ndarray, " _"]], dtype: type) -> Arrays:
    """Rows of unequal length as one, with where each ends."""
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    joined = np.concatenate(rows) if rows else np.empty(0)
    return {name: joined.astype(dtype), f"{name}_ends": ends}


def apart(arrays: Arrays, name: str) -> list[Shaped[np.ndarray, " _"]]:
    """Split the rows that `end_to_end` concatenated."""
    return np.split(arrays[name], arrays[f"{name}_ends"])[:-1]


def of_texts(texts: Sequence[str]) -> Shaped[np.ndarray, " byte"]:
    """Texts as bytes, a zero behind each."""
    return np.frombuffer("".join(text.replace("\0", " ") + "\0" for text in texts).encode(), np.uint8)


def to_texts(data: Shaped[np.ndarray, " byte"]) -> list[str]:
    """Restore the texts of `of_texts`, with spaces in place of zero characters."""
    return data.tobytes().decode().split("\0")[:-1]
