"""The documents of a corpus as a stream: text files, rows of jsonl, csv and parquet, and what `datasets` opens.

What cannot be read as text is a document all the same, with a reason in place of its text: it keeps its number, and is
skipped, counted and named.
"""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from headlight.model.corpus import hugging_face
from headlight.model.corpus.columns import check_column, text_of
from headlight.model.errors import InputError

PIECE = 10_000  # characters of a text file that make a document, up to the end of a line
LONGEST_LINE = 2**24  # characters of one row of a jsonl file

Rows = Iterator[tuple[str, str | None, str]]  # a document's name, its text, and why it has none


@dataclass(frozen=True)
class Document:
    """One text with its number and its name in the corpus; without a text, why it has none."""

    index: int
    name: str
    text: str | None
    reason: str = ""


@dataclass(frozen=True)
class Corpus:
    """Where documents are read from: files, in the order of their names, or a data set of the `datasets` library.

    `column` is what holds the text in a table, `split` the part that a data set is read of.
    """

    given: str
    files: tuple[Path, ...]
    column: str = "text"
    split: str = "train"

    @property
    def name(self) -> str:
        """The corpus without the folders that it lies in."""
        return self.given if not self.files else Path(self.given).resolve().name

    def documents(self) -> Iterator[Document]:
        """All documents, each time from the first.

        Raises:
            InputError: a table has no such column, or the data set cannot be opened.
        """
        return (Document(index, *row) for index, row in enumerate(self._rows()))

    def count(self, most: int | None = None) -> int | None:
        """How many documents there are, up to a limit; None where only reading a data set to its end would tell."""
        if self.files:
            return sum(1 for _ in islice(self._rows(), most))
        n_rows = hugging_face.count(self.given, self.split)
        return n_rows if n_rows is None or most is None else min(most, n_rows)

    def identity(self) -> dict[str, Any]:
        """What tells this corpus from another: files by name and size."""
        folder = Path(self.given)
        names = {_name(folder, path): path.stat().st_size for path in self.files}
        return {"corpus": self.name, "column": self.column, "split": self.split, "files": names}

    def _rows(self) -> Rows:
        if not self.files:
            yield from hugging_face.rows(self.given, self.column, self.split)
        for path in self.files:
            read = TABLES.get(path.suffix.lower())
            name = _name(Path(self.given), path)
            yield from _text_rows(path, name) if read is None else read(path, name, self.column)


def open_corpus(given: str, column: str = "text", split: str = "train") -> Corpus:
    """A corpus by the path of a file or folder, or by a hub name.

    Raises:
        InputError: there is no such file, or a folder holds none.
    """
    path = Path(os.path.expanduser(given))
    if path.is_file():
        return Corpus(str(path), (path,), column, split)
    if path.is_dir():
        if hugging_face.is_saved(path):
            return Corpus(str(path), (), column, split)
        files = tuple(sorted(found for found in path.rglob("*") if found.is_file() and not _hidden(path, found)))
        if not files:
            raise InputError(f"The folder {given} holds no files. {ALLOWED}")
        return Corpus(str(path), files, column, split)
    if hugging_face.is_name(given):
        return Corpus(given, (), column, split)
    raise InputError(f"There is no file or folder {given}. {ALLOWED}")


ALLOWED = (
    "A corpus is a text file, a .jsonl, .csv, .tsv or .parquet table, a folder of these, a folder that the datasets "
    "library saved, or a hub name as owner/name."
)


def _hidden(folder: Path, path: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _name(given: Path, path: Path) -> str:
    return path.name if given == path else path.relative_to(given).as_posix()


def _text_rows(path: Path, name: str) -> Rows:
    """A text file in pieces of whole lines, each with the line at which it begins."""
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        lines: list[str] = []
        length, first, number = 0, 1, 1
        while line := file.readline(PIECE):
            lines.append(line)
            length += len(line)
            number += line.endswith("\n")
            if length >= PIECE:
                yield _piece(name, first, "".join(lines))
                lines, length, first = [], 0, number
        if lines:
            yield _piece(name, first, "".join(lines))


def _piece(name: str, line: int, text: str) -> tuple[str, str | None, str]:
    named = name if line == 1 else f"{name}:{line}"
    try:
        text.encode()
    except UnicodeEncodeError:  # where surrogateescape has put bytes that are no text
        return named, None, "it is not UTF-8"
    return named, text, ""


def _jsonl_rows(path: Path, name: str, column: str) -> Rows:
    known = False
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                yield f"{name}:{number}", None, "it is no line of JSON"
                continue
            if not known and isinstance(row, dict):
                check_column(name, column, list(row))
                known = True
            yield f"{name}:{number}", *text_of(row.get(column) if isinstance(row, dict) else row)


def _csv_rows(path: Path, name: str, column: str) -> Rows:
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        header = next(reader, [])
        check_column(name, column, header)
        place = header.index(column)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield f"{name}:{reader.line_num}", None, f"it is no row of a table ({error})"
                continue
            if row:
                yield f"{name}:{reader.line_num}", *text_of(row[place] if place < len(row) else None)


def _parquet_rows(path: Path, name: str, column: str) -> Rows:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise InputError("Reading .parquet needs pyarrow: pip install pyarrow.") from error
    try:
        file = ParquetFile(path)
        check_column(name, column, file.schema_arrow.names)
        number = 0
        for batch in file.iter_batches(1024, columns=[column]):
            for value in batch.column(0):
                yield f"{name}:{number}", *text_of(value.as_py())
                number += 1
    except (ArrowException, OSError) as error:
        raise InputError(f"{name} cannot be read as parquet ({error}). Copy it again, or leave it out.") from error


TABLES: dict[str, Callable[[Path, str, str], Rows]] = {
    ".jsonl": _jsonl_rows,
    ".ndjson": _jsonl_rows,
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".parquet": _parquet_rows,
}
