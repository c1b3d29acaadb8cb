"""Sets of prompts from files, folders of `datasets` and the hub, in the columns of other programs or in one's own.

A table is csv, tsv, JSON lines, Parquet, or JSON: a list of objects, an object of lists (as TransformerLens and ARENA
have them), or auto-circuit's object with `prompts` and `word_idxs`. Objects in cells become columns of their own,
"metadata.subject".
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.base.files import MAX_JSON, RepeatedNameError, check_regular, unique_object
from headlight.model.prompt_sets.cells import pair_of, place_of_token
from headlight.model.prompt_sets.columns import LABELS, POSITIONS, ColumnMatching, guess
from headlight.model.prompt_sets.prompt_set import MAX_ROWS, Place, PromptPair, PromptSet
from headlight.model.text.data_sets import data_set_errors, is_data_set_name, is_saved, open_data_set
from headlight.model.text.encoding import check_text, open_text
from headlight.model.text.parquet import ParquetTable, parquet_errors
from headlight.model.text.records import READERS, folded, read_records

SUFFIXES = (*READERS, ".parquet")
ALLOWED = (
    f"A set is a table ({', '.join(SUFFIXES)}), a folder that the datasets library saved, or a hub name as owner/name."
)
N_EXAMPLES = 3
MAX_COLUMNS = 200
COLUMN = "clean"  # by which the columns of a csv file are told apart

Row = dict[str, Any]  # a cell by its column


@dataclass(frozen=True)
class Columns:
    """The columns of a file, its first rows and what each column seems to be."""

    names: tuple[str, ...]
    examples: tuple[Mapping[str, Any], ...]
    matching: ColumnMatching


@dataclass
class _Table:
    """Rows with what says where each stands, and positions that the file has for all rows."""

    rows: Iterator[tuple[str, Row]]
    places: Mapping[str, Place] = field(default_factory=dict)


def columns_of(source: Path | str | bytes, name: str = "", split: str = "train") -> Columns:
    """The columns of a table and a guess of what they are, from its first rows alone.

    Args:
        source: a file or folder, a hub name, or a file's bytes.
        name: the file's name, where its bytes are given.
        split: the split of a data set.

    Raises:
        InputError: it cannot be read, or has no rows.
    """
    with _naming(source, name):
        examples = [row for _, row in islice(_table(source, name, split).rows, N_EXAMPLES)]
        if not examples:
            raise InputError("It has no rows. Give at least one prompt.")
        names = tuple(dict.fromkeys(column for row in examples for column in row))
        return Columns(names, tuple(examples), guess(names, examples[0]))


def read_prompt_set(
    source: Path | str | bytes,
    matching: ColumnMatching | None = None,
    *,
    name: str = "",
    split: str = "train",
    at_most: int | None = None,
) -> PromptSet:
    """Read a set of prompts.

    Args:
        source: a file or folder, a hub name, or a file's bytes.
        matching: which column is what; by default guessed from their names.
        name: the set's name, with the suffix of the file where its bytes are given; by default the file's.
        split: the split of a data set.
        at_most: read no more than so many rows; by default all.

    Raises:
        InputError: it cannot be read, a column is missing, or a cell holds something else; the message has the row.
    """
    with _naming(source, name):
        table = _table(source, name, split)
        pairs, known = list[PromptPair](), dict[str, None]()
        for number, (where, row) in enumerate(islice(table.rows, at_most), start=1):
            if number > MAX_ROWS:
                raise InputError(f"It has more than {MAX_ROWS:,} rows. Give a part of it.")
            if new := row.keys() - known.keys():  # rows of JSON need not have the same columns
                known |= {column: None for column in row if column in new}
                chosen = matching or guess(list(known), row)
                chosen.check(list(known))
            try:
                pairs.append(pair_of(row, chosen, table.places))
            except InputError as error:
                raise InputError(f"Row {number} ({where}): {error}") from error
        if not pairs:
            raise InputError("It has no rows. Give at least one prompt.")
    return PromptSet(_name(source, name), tuple(pairs))


def to_jsonl(prompt_set: PromptSet) -> str:
    """The set as JSON lines, which `read_prompt_set` reads back."""
    return "".join(json.dumps(_object(pair), ensure_ascii=False) + "\n" for pair in prompt_set.rows)


def _object(pair: PromptPair) -> dict[str, Any]:
    positions = {name: {"clean": place, "corrupted": other} for name, (place, other) in pair.positions.items()}
    return {
        "clean": pair.clean,
        "corrupted": pair.corrupted,
        "answers": pair.answers,
        "wrong_answers": pair.wrong_answers,
        **({POSITIONS: positions} if positions else {}),
        **({LABELS: dict(pair.labels)} if pair.labels else {}),
    }


def _name(source: Path | str | bytes, name: str) -> str:
    return name or ("set" if isinstance(source, bytes) else Path(source).name)


@contextmanager
def _naming(source: Path | str | bytes, name: str) -> Iterator[None]:
    """Say in an error which file it is about."""
    called = _name(source, name)
    try:
        yield
    except OSError as error:
        raise InputError(f"{called} cannot be read ({error.strerror}). Mend that, or give another.") from error
    except (InputError, CheckpointError) as error:
        raise InputError(f"{called}: {error}") from error


def _table(source: Path | str | bytes, name: str, split: str) -> _Table:
    if isinstance(source, bytes):
        return _file_table(source, PurePath(name).suffix.lower())
    path = Path(os.path.expanduser(source))
    if path.is_dir():
        if not is_saved(path):
            raise InputError(f"It is a folder that the datasets library did not save. {ALLOWED}")
        return _Table(_data_set_rows(str(path), split))
    if os.path.exists(path):
        check_regular(path, InputError)
        return _file_table(path, path.suffix.lower())
    if is_data_set_name(str(source)) and not path.suffix:
        return _Table(_data_set_rows(str(source), split))
    raise InputError(f"There is no such file or folder. {ALLOWED}")


def _file_table(source: Path | bytes, suffix: str) -> _Table:
    if suffix not in SUFFIXES:
        raise InputError(f"Its name ends in {suffix or 'no suffix'!r}. {ALLOWED}")
    if suffix == ".parquet":
        return _Table(_parquet_rows(source))
    if suffix == ".json" and (content := _json_object(source)) is not None:
        return _object_table(content)
    return _Table(_record_rows(source, suffix))


def _record_rows(source: Path | bytes, suffix: str) -> Iterator[tuple[str, Row]]:
    for record in read_records(source, suffix, COLUMN):
        if record.fault:
            raise InputError(record.fault)
        _check_twice(record.names)
        if not record.is_header and not record.is_blank:
            yield record.where, _flat(dict(zip(record.names, record.values, strict=True)))


def _parquet_rows(source: Path | bytes) -> Iterator[tuple[str, Row]]:
    with parquet_errors():
        table = ParquetTable(source)
        _check_twice(table.names)
        for number, values in enumerate(table.rows(table.names), start=1):
            yield f"row {number}", _flat(dict(zip(table.names, values, strict=True)))


def _data_set_rows(source: str, split: str) -> Iterator[tuple[str, Row]]:
    number = 0
    data_set = open_data_set(source, split)
    try:
        for number, row in enumerate(data_set, start=1):
            yield f"row {number}", _flat(dict(row))
    except data_set_errors() as error:
        raise InputError(
            f"It cannot be read further than row {number} ({type(error).__name__}). Check the network and try again."
        ) from error


def _json_object(source: Path | bytes) -> dict[str, Any] | None:
    """The one object that a .json file holds; None where it holds a list, or an object a line."""
    with open_text(source) as stream:
        if stream.read(2**16).lstrip()[:1] != "{":
            return None
        stream.seek(0)
        text = stream.read(MAX_JSON)
    check_text(text, 1)
    try:
        content = json.loads(text, object_pairs_hook=unique_object)
    except RepeatedNameError as error:
        raise InputError(f"{error}, of which the first would be lost. Rename or remove one of the two.") from error
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and any(isinstance(part, list) for part in content.values()) else None


def _object_table(content: dict[str, Any]) -> _Table:
    """auto-circuit's object with a list of `prompts`, or an object of columns."""
    prompts = content.get("prompts")
    if isinstance(prompts, list) and prompts and all(isinstance(row, dict) for row in prompts):
        places = content.get("word_idxs") or {}
        if not isinstance(places, dict):
            raise InputError("Its word_idxs is no object of names and token indices. Mend or remove it.")
        rows = ((f"prompt {at}", _flat(row)) for at, row in enumerate(prompts, start=1))
        return _Table(rows, {name: place_of_token(place, f"word_idxs.{name}") for name, place in places.items()})
    columns = {name: part for name, part in content.items() if isinstance(part, list)}
    lengths = {name: len(part) for name, part in columns.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"Its lists have different lengths ({listed}). Give each one entry for every prompt.")
    names = list(columns)
    return _Table(
        (f"entry {at}", _flat(dict(zip(names, cells, strict=True))))
        for at, cells in enumerate(zip(*columns.values(), strict=True), start=1)
    )


def _flat(row: Mapping[str, Any]) -> Row:
    """The row with the parts of objects as columns; the two places of a position stay together."""
    flat = Row()
    for column, value in row.items():
        if isinstance(value, Mapping) and not (column.startswith(f"{POSITIONS}.") and "clean" in value):
            flat |= _flat({f"{column}.{part}": inner for part, inner in value.items()})
        else:
            flat[column] = value
    if len(flat) > MAX_COLUMNS:
        raise InputError(f"It has {len(flat):,} columns; at most {MAX_COLUMNS} are taken. Leave some out.")
    return flat


def _check_twice(names: Any) -> None:
    keys = [folded(column) for column in names]
    if twice := next((column for at, column in enumerate(names) if keys[at] in keys[:at]), None):
        raise InputError(f"It has the column {twice!r} twice. Rename or remove one of the two.")
