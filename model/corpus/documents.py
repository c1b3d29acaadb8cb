"""Stream the documents of a corpus: text files, rows of json, csv and parquet, and data sets of `datasets`.

A document that cannot be read as text keeps its number and has a reason instead; a scan skips and counts it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError, InputError, nearest
from headlight.model.base.files import check_regular
from headlight.model.text.data_sets import data_set_errors, is_data_set_name, is_saved, open_data_set
from headlight.model.text.encoding import check_text, open_text
from headlight.model.text.parquet import ParquetTable, parquet_errors
from headlight.model.text.records import (
    READERS,
    Record,
    fault_of,
    is_conversation,
    is_list_of_objects,
    place_of,
    read_records,
)

PIECE = 10_000  # characters of a text file that make a document, up to the end of a line
SURELY_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")  # a .json beside texts may be anything

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
    """A source of documents: files in the order of their names, or a data set of the `datasets` library.

    `column` is the text column of a table, `split` the split of a data set.
    """

    source: str
    files: tuple[Path, ...]
    column: str = "text"
    split: str = "train"

    @property
    def name(self) -> str:
        """The corpus's own name, without its parent folders."""
        return self.source if not self.files else Path(self.source).resolve().name

    def documents(self) -> Iterator[Document]:
        """All documents, each time from the first.

        Raises:
            InputError: a table has no such column, or the data set cannot be opened.
        """
        return (Document(index, *row) for index, row in enumerate(self._rows()))

    def count(self, most: int | None = None) -> int | None:
        """Count documents, up to a limit; None for a streamed data set, whose length is unknown."""
        if self.files:
            return sum(1 for _ in islice(self._rows(), most))
        if not Path(self.source).is_dir():
            return None
        n_rows = len(open_data_set(self.source, self.split))
        return n_rows if most is None else min(most, n_rows)

    def identity(self) -> dict[str, Any]:
        """Return the identity of this corpus: its files' names and sizes."""
        folder = Path(self.source)
        names = {_name(folder, path): path.stat().st_size for path in self.files}
        return {"corpus": self.name, "column": self.column, "split": self.split, "files": names}

    def _rows(self) -> Rows:
        if not self.files:
            yield from _data_set_rows(self.source, self.column, self.split)
        for path in self.files:
            yield from self._rows_of(path, _name(Path(self.source), path))

    def _rows_of(self, path: Path, name: str) -> Rows:
        """A file's rows; one of several that is no text, and no table by its name, is a document without a text."""
        suffix = path.suffix.lower()
        read = TABLES.get(suffix)
        try:
            check_regular(path, InputError)
            yield from _text_rows(path, name) if read is None else read(path, name, self.column)
        except OSError as error:
            raise InputError(f"{name} cannot be read ({error.strerror}). Mend that, or leave it out.") from error
        except CheckpointError as error:
            raise InputError(str(error)) from error
        except InputError as error:
            if len(self.files) == 1 or suffix in SURELY_TABLES:
                raise InputError(f"{name}: {error}") from error
            yield name, None, str(error)


def open_corpus(source: str, column: str = "text", split: str = "train") -> Corpus:
    """Open a corpus by the path of a file or folder, or by a hub name.

    Raises:
        InputError: there is no such file, or a folder holds none.
    """
    path = Path(os.path.expanduser(source))
    if os.path.exists(path) and not path.is_dir():
        check_regular(path, InputError)
        return Corpus(str(path), (path,), column, split)
    if path.is_dir():
        if is_saved(path):
            return Corpus(str(path), (), column, split)
        files = tuple(sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(path, file)))
        if not files:
            raise InputError(f"The folder {source} holds no files. {ALLOWED}")
        return Corpus(str(path), files, column, split)
    if is_data_set_name(source) and not path.suffix and not path.parent.exists():
        return Corpus(source, (), column, split)
    raise InputError(f"There is no file or folder {source}. {ALLOWED}")


ALLOWED = (
    "A corpus is a text file, a .jsonl, .json, .csv, .tsv or .parquet table, a folder of these, a folder that the "
    "datasets library saved, or a hub name as owner/name."
)


def _hidden(folder: Path, path: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _name(root: Path, path: Path) -> str:
    return path.name if root == path else path.relative_to(root).as_posix()


def runs(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Consecutive lines in groups of about this many characters."""
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
    first = 1
    with open_text(path, newline="") as stream:
        for run in runs(iter(lambda: stream.readline(PIECE), ""), PIECE):
            text = "".join(run)
            yield name if first == 1 else f"{name}:{first}", *_checked(text, first)
            first += sum(line.endswith("\n") for line in run)


def _checked(text: str, line: int) -> tuple[str | None, str]:
    try:
        check_text(text, line)
    except InputError as error:
        return None, str(error)
    return text, ""


def _table_rows(path: Path, name: str, column: str) -> Rows:
    is_known = False
    for record in read_records(path, path.suffix.lower(), column):
        if not is_known and not record.fault:
            _column(record, column)
            is_known = True
        if record.is_header:
            continue
        called = f"{name}:{record.number}"
        if record.fault or record.is_blank:
            yield called, None, record.fault or "its cells are empty"
            continue
        place = place_of(record.names, column)
        yield called, *_text_of(None if place is None else record.values[place])


def _parquet_rows(path: Path, name: str, column: str) -> Rows:
    with parquet_errors():
        table = ParquetTable(path)
        at = _column(Record("", 0, table.names), column)
        table.check_text(at)
        for number, (value,) in enumerate(table.rows([at])):
            yield f"{name}:{number}", *_text_of(value)


def _data_set_rows(source: str, column: str, split: str) -> Rows:
    number, name = 0, Path(source).name
    try:
        for number, row in enumerate(open_data_set(source, split)):
            at = column if column in row else _column(Record("", 0, list(row), list(row.values())), column)
            yield f"{split}:{number}", *_text_of(row[at])
    except data_set_errors() as error:
        raise InputError(
            f"{name} cannot be read further than row {number} ({type(error).__name__}). Check the network, and give "
            "the same command again: it goes on from there."
        ) from error


def _column(record: Record, column: str) -> str:
    """The name of the column that holds the texts, as the table spells it.

    Raises:
        InputError: there is none, or it holds conversations.
    """
    place = place_of(record.names, column)
    looked_at = record.names if place is None else record.names[place : place + 1]
    values = dict(zip(record.names, record.values, strict=False))
    if nested := next((name for name in looked_at if is_list_of_objects(values.get(name))), None):
        alone = ", in a column of its own" if is_conversation(values[nested]) else ""
        raise InputError(f"Its {nested!r} {fault_of(values[nested])}{alone}.")
    if record.names.count(column) > 1:
        raise InputError(
            f"It has {record.names.count(column)} columns {column!r}. Rename all but the one with the text."
        )
    if place is None:
        raise InputError(
            f"There is no column {column!r}.{nearest(column, record.names)} The columns are "
            f"{', '.join(record.names) or 'none'}: name the one with the text by --column."
        )
    return record.names[place]


def _text_of(value: object) -> tuple[str | None, str]:
    """A document's text, or why it has none."""
    if value is None:
        return None, "it holds no text"
    fault = fault_of(value)
    return (None, f"it {fault}") if fault or not isinstance(value, str) else (value, "")


TABLES: dict[str, Callable[[Path, str, str], Rows]] = {
    **dict.fromkeys(READERS, _table_rows),
    ".parquet": _parquet_rows,
}
