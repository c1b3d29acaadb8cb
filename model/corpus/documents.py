"""The documents of a corpus as a stream: text files, rows of jsonl, csv and parquet, and what `datasets` opens.

What cannot be read as text is a document all the same, with a reason in place of its text: it keeps its number, and is
skipped, counted and named.
"""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from headlight.model.errors import InputError, nearest
from headlight.model.families.hub import is_hub_name

PIECE = 10_000  # characters of a text file that make a document, up to the end of a line
LONGEST_LINE = 2**24  # characters of one row of a jsonl file
SAVED = ("dataset_info.json", "dataset_dict.json")  # one of which the `save_to_disk` of `datasets` leaves

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
        if not Path(self.given).is_dir():
            return None
        n_rows = len(_data_set(self.given, self.split))
        return n_rows if most is None else min(most, n_rows)

    def identity(self) -> dict[str, Any]:
        """What tells this corpus from another: files by name and size."""
        folder = Path(self.given)
        names = {_name(folder, path): path.stat().st_size for path in self.files}
        return {"corpus": self.name, "column": self.column, "split": self.split, "files": names}

    def _rows(self) -> Rows:
        if not self.files:
            yield from _data_set_rows(self.given, self.column, self.split)
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
        if any((path / name).is_file() for name in SAVED):
            return Corpus(str(path), (), column, split)
        files = tuple(sorted(found for found in path.rglob("*") if found.is_file() and not _hidden(path, found)))
        if not files:
            raise InputError(f"The folder {given} holds no files. {ALLOWED}")
        return Corpus(str(path), files, column, split)
    if is_hub_name(given) and "/" in given and not path.suffix and not path.parent.exists():
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


def runs(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Consecutive runs of lines, each of about so many characters, up to the end of a line."""
    run: list[str] = []
    length = 0
    for line in lines:
        run.append(line)
        length += len(line)
        if length >= size:
            yield run
            run, length = [], 0
    if run:
        yield run


def _text_rows(path: Path, name: str) -> Rows:
    """A text file in pieces of whole lines, each with the line at which it begins."""
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        first = 1
        for run in runs(iter(lambda: file.readline(PIECE), ""), PIECE):
            yield name if first == 1 else f"{name}:{first}", *_text_of("".join(run))
            first += sum(line.endswith("\n") for line in run)


def _jsonl_rows(path: Path, name: str, column: str) -> Rows:
    known = False
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                yield f"{name}:{number}", None, "it is no line of JSON"
                continue
            if not known and isinstance(row, dict):
                _check_column(name, column, list(row))
                known = True
            yield f"{name}:{number}", *_text_of(row.get(column) if isinstance(row, dict) else row)


def _csv_rows(path: Path, name: str, column: str) -> Rows:
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        header = next(reader, [])
        _check_column(name, column, header)
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
                yield f"{name}:{reader.line_num}", *_text_of(row[place] if place < len(row) else None)


def _parquet_rows(path: Path, name: str, column: str) -> Rows:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise InputError("Reading .parquet needs pyarrow: pip install pyarrow.") from error
    try:
        file = ParquetFile(path)
        _check_column(name, column, file.schema_arrow.names)
        values = (value for batch in file.iter_batches(1024, columns=[column]) for value in batch.column(0))
        for number, value in enumerate(values):
            yield f"{name}:{number}", *_text_of(value.as_py())
    except (ArrowException, OSError) as error:
        raise InputError(f"{name} cannot be read as parquet ({error}). Copy it again, or leave it out.") from error


def _data_set_rows(given: str, column: str, split: str) -> Rows:
    for number, row in enumerate(_data_set(given, split)):
        if number == 0:
            _check_column(Path(given).name, column, list(row))
        yield f"{split}:{number}", *_text_of(row.get(column))


def _data_set(given: str, split: str) -> Any:
    """A part of a data set that was saved in a folder, or is streamed from the hub."""
    try:
        import datasets
    except ImportError as error:
        raise InputError("Reading a data set of the hub needs its library: pip install datasets.") from error
    try:
        if Path(given).is_dir():
            found = datasets.load_from_disk(given)
            return found[split] if isinstance(found, datasets.DatasetDict) else found
        return datasets.load_dataset(given, split=split, streaming=True)
    except Exception as error:  # the library's own, and those of what it fetches with, have no parent of their own
        raise InputError(f"The datasets library cannot open {given}, split {split!r} ({error}).") from error


def _check_column(name: str, column: str, columns: list[str]) -> None:
    if column not in columns:
        raise InputError(
            f"{name} has no column {column!r}.{nearest(column, columns)} Its columns are {', '.join(columns)}: name "
            "the one with the text by --column."
        )


def _text_of(value: object) -> tuple[str | None, str]:
    """A document's text, or why it has none."""
    if not isinstance(value, str):
        return None, "it holds no text" if value is None else f"it holds {type(value).__name__} in place of text"
    try:
        value.encode()
    except UnicodeEncodeError:  # where surrogateescape has put bytes that are no text
        return None, "it is not UTF-8"
    return value, ""


TABLES: dict[str, Callable[[Path, str, str], Rows]] = {
    ".jsonl": _jsonl_rows,
    ".ndjson": _jsonl_rows,
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".parquet": _parquet_rows,
}
