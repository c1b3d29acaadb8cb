"""Parquet tables, read as a stream of rows with bounded memory."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headlight.model.base.errors import InputError
from headlight.model.base.files import refuse_pointer
from headlight.model.text.arrow_bounds import rows_at_once


class ParquetTable:
    """A Parquet table, from its file or the file's bytes.

    Raises:
        InputError: pyarrow is not installed.
        CheckpointError: the file is a Git LFS pointer.
        ArrowException, OSError, ValueError: it is damaged; `parquet_errors` says so.
    """

    def __init__(self, source: Path | bytes) -> None:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise InputError("Reading .parquet needs pyarrow: pip install pyarrow.") from error
        if isinstance(source, Path):
            refuse_pointer(source)
        self._source = source
        self._file = ParquetFile(source if isinstance(source, Path) else io.BytesIO(source))
        self.names: list[str] = list(self._file.schema_arrow.names)

    def rows(self, columns: Sequence[str]) -> Iterator[list[Any]]:
        """The values of some columns, row by row.

        Raises:
            InputError: a page of a column is longer than any is read.
        """
        at_once = min((rows_at_once(self._source, self._file, column) for column in columns), default=1)
        for batch in self._file.iter_batches(at_once, columns=list(columns)):
            values = [batch.column(name).to_pylist() for name in columns]
            yield from map(list, zip(*values, strict=True))

    def check_text(self, column: str) -> None:
        """Refuse a column of lists or objects where texts are wanted.

        Raises:
            InputError: it is one.
        """
        from pyarrow import types

        kind = self._file.schema_arrow.field(column).type
        if types.is_nested(kind):
            raise InputError(f"Its {column!r} is {kind}, not text: write each as one text.")


@contextmanager
def parquet_errors() -> Iterator[None]:
    """Turn what reading a damaged table raises into an InputError."""
    try:
        from pyarrow import ArrowException
    except ImportError as error:
        raise InputError("Reading .parquet needs pyarrow: pip install pyarrow.") from error
    try:
        yield
    except (ArrowException, OSError, ValueError) as error:
        raise InputError(f"It cannot be read as parquet ({error}). Copy it again, or leave it out.") from error
