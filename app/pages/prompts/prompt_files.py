"""Files of prompts: .txt with one prompt a line, .csv with a `prompt` column, .jsonl with a `prompt` key.

A file is read whole or not at all. A prompt is taken as it stands, spaces, NUL and control characters included.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from headlight.app.frame.prompt_list import Prompt
from headlight.model.errors import InputError

SUFFIXES = (".txt", ".csv", ".jsonl")
PROMPT = "prompt"
DELIMITERS = (",", ";", "\t")
MAX_COLUMNS = 32  # labels of one prompt; more is another kind of file, and no table that can be read
_NAMED = 12  # columns listed in an error
_QUOTED = 40  # characters of the file quoted in an error


Entry = tuple[str, dict[str, str]]
"""A prompt and its labels."""


def read(name: str, data: bytes, most: int) -> tuple[Prompt, ...]:
    """The prompts of an uploaded file, at most so many, in the file's order.

    Raises:
        InputError: the file cannot be read to its end; the message names the line where there is one, and the way out.
    """
    readers = {".txt": _read_txt, ".csv": _read_csv, ".jsonl": _read_jsonl}
    suffix = PurePath(name).suffix.lower()
    if suffix not in readers:
        raise InputError(f"The name ends in {_quote(suffix)}; files of prompts end in {', '.join(SUFFIXES)}.")
    if not data:
        raise InputError(f"The file is empty: it has 0 bytes. Put at least one {PROMPT} into it.")
    prompts = tuple(Prompt(text, name, tuple(labels.items())) for text, labels in readers[suffix](_decode(data)))
    if not prompts:
        raise InputError("The file holds no prompt, only blank lines or a header. Put at least one prompt into it.")
    if len(prompts) > most:
        raise InputError(f"The file holds {len(prompts):,} prompts; at most {most:,} are taken. Split the file.")
    return prompts


def _read_txt(text: str) -> Iterator[Entry]:
    # io.StringIO breaks lines at \n, \r\n and \r alone; str.splitlines would at characters that are data.
    for line in io.StringIO(text, newline=None):
        if line.strip():
            yield line.removesuffix("\n"), {}


def _read_csv(text: str) -> Iterator[Entry]:
    delimiter = _delimiter(text)
    records = _records(text, delimiter)
    names = [name.strip() or f"column {place}" for place, name in enumerate(next(records)[1], start=1)]
    key = _prompt_key(names, line=1)
    for line, cells in records:
        if len(cells) != len(names):
            raise InputError(
                f"Line {line} has {len(cells)} fields, the header has {len(names)}. "
                f"A {PROMPT} with a {_called(delimiter)} or a line break in it has to stand in double quotes."
            )
        labels = dict(zip(names, cells, strict=True))
        yield labels.pop(key), labels


def _delimiter(text: str) -> str:
    """What separates the columns of a csv file: that which finds a prompt column, and else the most columns."""

    def merit(delimiter: str) -> tuple[bool, int]:
        _, header = next(_records(text, delimiter), (1, []))
        return PROMPT in map(_folded, header), len(header)

    return max(DELIMITERS, key=merit)


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records that are not blank lines, each with the number of the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(_broken(line, reader.line_num, str(error))) from error
        if cells:
            yield line, cells


def _broken(first: int, last: int, reason: str) -> str:
    """What is wrong with the csv record that begins on the one line and could be followed to the other."""
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


def _read_jsonl(text: str) -> Iterator[Entry]:
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if line.strip():
            entry = _entry(line, number)
            key = _prompt_key(list(entry), number)
            prompt = entry.pop(key)
            if not isinstance(prompt, str):
                raise InputError(f"Line {number}: the {PROMPT} is {_quote(_as_text(prompt))}, not a text in quotes.")
            yield prompt, {name: _as_text(value) for name, value in entry.items()}


def _entry(line: str, number: int) -> dict[str, Any]:
    """One line of a jsonl file."""
    try:
        entry = json.loads(line)
        json.dumps(entry, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"Line {number} holds half of a surrogate pair (\\u{ord(error.object[error.start]):x}), which is no "
            "character. Write the other half too, or remove it."
        ) from error
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "too deep or long"
        raise InputError(
            f"Line {number} is not valid JSON ({reason}), so nothing of the file was taken. "
            f'Each line is one object: {{"{PROMPT}": "The cat"}}.'
        ) from error
    if not isinstance(entry, dict):
        raise InputError(f'Line {number} is {_quote(line.strip())}, not an object such as {{"{PROMPT}": "The cat"}}.')
    return entry


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _prompt_key(names: Sequence[str], line: int) -> str:
    """The name of the prompt column or key, whatever its case.

    Raises:
        InputError: there is none, a name occurs twice, or there are too many.
    """
    folded = [_folded(name) for name in names]
    if PROMPT not in folded:
        listed = ", ".join(map(_quote, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
        raise InputError(f"Line {line} names no {PROMPT}; it names {listed or 'nothing'}. Call one of them “{PROMPT}”.")
    twice = next((name for place, name in enumerate(names) if folded.index(_folded(name)) != place), None)
    if twice is not None:
        raise InputError(f"Line {line} names {_quote(twice)} twice, capitals aside. Rename one of the two.")
    if len(names) > MAX_COLUMNS:
        raise InputError(f"Line {line} names {len(names):,} columns; at most {MAX_COLUMNS} are taken. Leave some out.")
    return names[folded.index(PROMPT)]


def _folded(name: str) -> str:
    return name.strip().casefold()


def _called(delimiter: str) -> str:
    return {",": "comma", ";": "semicolon", "\t": "tab"}[delimiter]


def _quote(text: str) -> str:
    return f"“{text if len(text) <= _QUOTED else text[:_QUOTED] + '…'}”"


def _decode(data: bytes) -> str:
    """The text of a UTF-8 file, with or without a byte order mark.

    Raises:
        InputError: it is in another encoding, named as far as the bytes tell, or no text at all.
    """
    if other := _other_encoding(data):
        raise InputError(f"The file looks like {other}, not UTF-8. {_SAVE_AS}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, line = data[error.start], data.count(b"\n", 0, error.start) + 1
        if b"\x00" in data:
            raise InputError(f"The file is no text: line {line} holds bytes of something else. {_SAVE_AS}") from error
        raise InputError(
            f"Line {line} is not UTF-8: the file looks like {_one_byte_encoding(data)} (byte 0x{byte:02X} there). "
            f"{_SAVE_AS}"
        ) from error


_SAVE_AS = "Save it as UTF-8: “CSV UTF-8” in a spreadsheet, “Save as…” with the encoding UTF-8 in a text editor."


def _other_encoding(data: bytes) -> str:
    """An encoding with a byte order mark of its own, or with every other byte mostly zero; else empty."""
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "UTF-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    zeros = sorted(data[start::2].count(0) for start in (0, 1))
    return "UTF-16 without a byte order mark" if len(data) >= 8 and zeros[0] == 0 and 4 * zeros[1] > len(data) else ""


def _one_byte_encoding(data: bytes) -> str:
    """Latin-1, unless bytes occur that mean something in Windows-1252 alone."""
    windows_alone = any(0x80 <= byte < 0xA0 for byte in data)
    return "Windows-1252 (“ANSI”)" if windows_alone else "Latin-1 (ISO-8859-1)"
