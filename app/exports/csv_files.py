"""Tables as csv files that a spreadsheet shows and does not execute."""

import csv
import io
from collections.abc import Mapping, Sequence

Cell = str | int | float | None

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # how a cell begins that a spreadsheet would compute, full-width signs included


def csv_bytes(columns: Mapping[str, Sequence[Cell]]) -> bytes:
    """The csv file of columns of equal length: UTF-8 with a byte order mark, a header line, lines ending in CRLF.

    A text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay numbers, in all their
    digits, and None is an empty cell.

    Source: OWASP, "CSV Injection"; RFC 4180.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(neutral, columns))
    writer.writerows(map(neutral, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue().encode("utf-8-sig")


def neutral(cell: Cell) -> Cell:
    """The cell itself, or the text with an apostrophe where a spreadsheet would otherwise compute it."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
