"""Tables of texts, read as a stream: csv with any of `DELIMITERS`, JSON lines, and a JSON list of objects.

Memory is bounded by the longest record, whatever the file's size. What would shift columns or swallow lines is refused
with its line; a JSON record that cannot be read comes with its fault, which a caller may refuse or count.
"""

import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from headlight.model.base.errors import InputError
from headlight.model.base.files import RepeatedNameError, unique_object
from headlight.model.text.encoding import check_text, open_text

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
MAX_CHARACTERS = 2**24  # of one line, field or JSON value
HEAD = 2**16  # characters in which the header is looked for
SEPARATOR = re.compile(r'"?sep=([,;\t|])"?(?:\r\n|\r|\n)')
QUOTED = 40  # characters of a file that a message quotes


@dataclass(frozen=True)
class Record:
    """A row of a table: where it stands ("Line 3"), its number there, and its values under their names.

    The header of a csv file comes first, without values. What cannot be read has a `fault` in place of both.
    """

    where: str
    number: int
    names: Sequence[str] = ()
    values: Sequence[Any] = ()
    fault: str = ""

    @property
    def is_header(self) -> bool:
        """Whether it has names and no values."""
        return len(self.names) > len(self.values)

    @property
    def is_blank(self) -> bool:
        """Whether it has cells, and nothing in any of them."""
        return bool(self.values) and all(isinstance(value, str) and not value.strip() for value in self.values)


def read_records(source: Path | bytes, suffix: str, column: str) -> Iterator[Record]:
    """The records of a table in UTF-8, whose suffix is one of `READERS`; the delimiter is one that parts off `column`.

    Raises:
        InputError: another encoding, or a csv row or JSON list that is not well formed; the message names its line.
    """
    return READERS[suffix](source, column)


def place_of(names: Sequence[str], column: str) -> int | None:
    """The place of a column, whatever its case unless two differ in nothing else; None where there is none."""
    if column in names:
        return list(names).index(column)
    places = [place for place, name in enumerate(names) if folded(name) == folded(column)]
    return places[0] if len(places) == 1 else None


def folded(name: str) -> str:
    """A name without its case and the spaces around it."""
    return name.strip().casefold()


def quote(text: str) -> str:
    """The beginning of a text in quotes."""
    return f"“{text if len(text) <= QUOTED else text[:QUOTED] + '…'}”"


def as_text(value: object) -> str:
    """A value as text: a string as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fault_of(value: object) -> str:
    """The fault of a value that is no text, as a predicate with a next step; empty for a text."""
    if isinstance(value, str):
        return half_character(value)
    if is_conversation(value):
        return (
            "is a conversation of several messages, not one text: write each as one, as the tokenizer's "
            "apply_chat_template(messages, tokenize=False) gives it"
        )
    if is_list_of_objects(value):
        return "is a list of objects, not one text: write that list alone into the file"
    return f"is {quote(as_text(value))}, not a text in quotes"


def is_conversation(value: object) -> bool:
    """Whether a value is a list of messages, as chat tools write them."""
    return is_list_of_objects(value) and all({"role", "from"} & turn.keys() for turn in value)


def is_list_of_objects(value: object) -> TypeGuard[list[dict[str, Any]]]:
    """Whether a value is a list of objects, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def half_character(text: str) -> str:
    """The fault of a text with half a surrogate pair, as a predicate; empty without one."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):x}"
        return f"holds half of a surrogate pair ({half}), which is no character: write the other half, or remove it"
    return ""


def _csv_records(source: Path | bytes, column: str, delimiters: Sequence[str] = ",;\t|") -> Iterator[Record]:
    csv.field_size_limit(MAX_CHARACTERS)
    with open_text(source, newline="") as stream:
        head, first = stream.read(HEAD), list[str]()
        stream.seek(0)
        if separator := SEPARATOR.match(head):  # a line that spreadsheets write before the header
            first, head, delimiters = [stream.read(separator.end())], head[separator.end() :], separator[1]
        delimiter = _delimiter(head, column, delimiters)
        blank = ["\n" for _ in first]  # in that line's place, so that lines keep their numbers
        rows = _rows(itertools.chain(blank, iter(lambda: stream.readline(MAX_CHARACTERS), "")), delimiter)
        line, header = next(rows, (1, []))
        names = [name.strip() or f"column {place}" for place, name in enumerate(header, start=1)]
        if names:
            yield Record(f"Line {line}", line, names)
        for line, cells in rows:
            if len(cells) != len(names) and any(cell.strip() for cell in cells):
                raise InputError(
                    f"Line {line} has {len(cells)} fields, the header has {len(names)}. "
                    f"A text with a {DELIMITERS[delimiter]} or a line break in it has to stand in double quotes."
                )
            yield Record(f"Line {line}", line, names, cells if len(cells) == len(names) else [""] * len(names))


def _tsv_records(source: Path | bytes, column: str) -> Iterator[Record]:
    return _csv_records(source, column, "\t,;|")


def _delimiter(head: str, column: str, delimiters: Sequence[str]) -> str:
    """Separator of columns: the one that splits off the wanted column, else the one that gives the most columns."""

    def merit(delimiter: str) -> tuple[bool, int]:
        _, header = next(_rows(iter(io.StringIO(head, newline="")), delimiter), (1, []))
        return place_of(header, column) is not None, len(header)

    return max(delimiters, key=merit)


def _rows(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank lines, each with the number of the line it begins on."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(_broken(line, reader.line_num, str(error))) from error
        if cells:
            check_text("".join(cells), line)
            yield line, cells


def _broken(first: int, last: int, reason: str) -> str:
    """Error in the csv row that begins on the one line and was parsed up to the other."""
    if "unexpected end of data" in reason or "field limit" in reason:
        return (
            f'Line {first}: a double quote (") opens a field there and is never closed. Close it; '
            "a double quote inside a quoted field is written twice."
        )
    begun = f", in a record that begins on line {first}" if first != last else ""
    return (
        f"Line {last} is not valid csv ({reason}{begun}). A field with a double quote in it stands in double quotes, "
        "and the one inside is written twice."
    )


def _line_records(source: Path | bytes, column: str) -> Iterator[Record]:
    with open_text(source) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_CHARACTERS), ""), start=1):
            if line.strip():
                yield _object(f"Line {number}", number, line.removesuffix("\n"), column)


def _object(where: str, number: int, text: str, column: str) -> Record:
    """A record from one line of JSON."""
    try:
        check_text(text, number)
        value = DECODER.decode(text)
    except InputError as error:
        return Record(where, number, fault=str(error))
    except RepeatedNameError as error:
        return Record(where, number, fault=_repeated(where, error))
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "too deep or long"
        way_out = f"Each line is one object: {_example(column)}."
        return Record(where, number, fault=f"{where} is not valid JSON ({reason}). {way_out}")
    return _record(where, number, value, column)


def _record(where: str, number: int, value: object, column: str) -> Record:
    if not isinstance(value, dict):
        fault = f"{where} is {quote(as_text(value))}, not an object such as {_example(column)}."
        return Record(where, number, fault=fault)
    return Record(where, number, list(value), list(value.values()))


def _repeated(where: str, error: RepeatedNameError) -> str:
    return f"{where}: {error}, of which the first would be lost. Rename or remove one of the two."


def _example(column: str) -> str:
    return json.dumps({column: "The cat"})


def _list_records(source: Path | bytes, column: str) -> Iterator[Record]:
    """The objects of a JSON list, one at a time; a .json file with an object a line is read as such."""
    with open_text(source) as stream:
        start = stream.read(HEAD).lstrip()[:1]
        stream.seek(0)
        if not start or start == "[":
            for number, value in enumerate(_List(stream.read, column), start=1):
                yield _record(f"Entry {number}", number, value, column)
            return
    lines = _line_records(source, column)
    first = next(lines)
    if first.fault:
        raise InputError(
            f"The file is neither a list of objects, [{_example(column)}, …], nor one object a line. {first.fault}"
        )
    yield first
    yield from lines


class _List:
    """The elements of a JSON list that is read piece by piece.

    Raises:
        InputError: it is no list, has a value that is no JSON, or is cut short.
    """

    def __init__(self, read: Callable[[int], str], column: str) -> None:
        self._column = column
        self._read, self._text, self._at, self._is_over, self._number = read, "", 0, False, 0

    def __iter__(self) -> Iterator[Any]:
        if self._mark() != "[":
            raise self._broken()
        if self._text.startswith("]", self._at):
            return
        while True:
            self._number += 1
            yield self._value()
            mark = self._mark()
            if mark == "]" and self._at == len(self._text):
                return
            if mark != ",":
                raise self._broken()

    def _more(self) -> None:
        """Read as much again as there is: no value is looked at more than a few times."""
        more = self._read(max(HEAD, len(self._text) - self._at))
        self._text, self._at, self._is_over = self._text[self._at :] + more, 0, not more

    def _mark(self) -> str:
        """The bracket or comma that comes next, passed over with the spaces around it; empty where there is none."""
        while True:
            match = MARK.match(self._text, self._at)
            assert match is not None  # it may be empty
            if match.end() < len(self._text) or self._is_over:
                self._at = match.end()
                return match[1]
            self._more()

    def _value(self) -> Any:
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or self._is_over:  # else a number could go on
                    check_text(self._text[self._at : end], 0, f"Entry {self._number}")
                    self._at = end
                    return value
            except RepeatedNameError as error:
                raise InputError(_repeated(f"Entry {self._number}", error)) from error
            except (ValueError, RecursionError) as error:
                is_long = len(self._text) - self._at > MAX_CHARACTERS
                if self._is_over or is_long or isinstance(error, RecursionError):
                    raise self._broken() from error
            self._more()

    def _broken(self) -> InputError:
        at = f"entry {self._number}" if self._number else "its beginning"
        example = _example(self._column)
        return InputError(f"The file is no JSON list of objects, by {at}. It has to be [{example}, …].")


MARK, DECODER = re.compile(r"\s*([\[\],]?)\s*"), json.JSONDecoder(object_pairs_hook=unique_object)


READERS: dict[str, Callable[[Path | bytes, str], Iterator[Record]]] = {
    ".csv": _csv_records,
    ".tsv": _tsv_records,
    ".jsonl": _line_records,
    ".ndjson": _line_records,
    ".json": _list_records,
}
