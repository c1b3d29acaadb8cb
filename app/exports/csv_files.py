"""Tables as csv files that a spreadsheet shows and does not execute."""

import csv
import io
import re
from collections.abc import Mapping, Sequence

Cell = str | int | float | None

# A formula's sign, full-width ones included, where a cell begins, blanks and quotes aside: at the text's beginning, or
# behind what a spreadsheet may take for the end of a cell, a semicolon, a tab or the end of a line.
FORMULA = re.compile(r"(^[\s\"]*|[;\t\r\n][\s\";]*)([=+\-@＝＋－＠]?)")


def csv_bytes(columns: Mapping[str, Sequence[Cell]]) -> bytes:
    """The csv file of columns of equal length: UTF-8 with a byte order mark, a header line, lines ending in CRLF.

    What a spreadsheet would take for a formula gets an apostrophe before it; numbers stay numbers, in all their digits,
    and None is an empty cell.

    Source: OWASP, "CSV Injection"; RFC 4180.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(neutral, columns))
    writer.writerows(map(neutral, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue().encode("utf-8-sig", "replace")


def neutral(cell: Cell) -> Cell:
    """The cell itself, or the text with an apostrophe wherever a spreadsheet would otherwise begin to compute."""
    return FORMULA.sub(_apart, cell) if isinstance(cell, str) else cell


def _apart(begun: re.Match[str]) -> str:
    before, sign = begun.groups()
    return f"{before}'{sign}" if sign else before
