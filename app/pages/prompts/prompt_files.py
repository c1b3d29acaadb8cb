"""Files of prompts: .txt with one prompt a line, and tables with a `prompt` column or key, or `messages` of a chat.

A file is read whole or not at all. A prompt is taken as it stands, spaces, NUL and control characters included.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from headlight.app.frame.prompt_list import Prompt
from headlight.model.base.errors import InputError
from headlight.model.text.conversation import EXAMPLE, Conversation
from headlight.model.text.encoding import check_text, open_text
from headlight.model.text.records import (
    READERS,
    Record,
    as_text,
    fault_of,
    folded,
    half_character,
    is_conversation,
    is_list_of_objects,
    place_of,
    quote,
    read_records,
)

SUFFIXES = (".txt", ".csv", ".tsv", ".jsonl", ".json")
PROMPT = "prompt"
CHATS = "messages"  # which a line of a chat file has in place of a prompt
MAX_COLUMNS = 32  # labels of one prompt; more is another kind of file, and no table that can be read
_NAMED = 12  # columns listed in an error
PAIRS = {
    "clean",
    "corrupted",
    "corrupt",
    "counterfactual",
}  # columns of sets of pairs, any of which says that it is one


class Prompts(tuple[Prompt, ...]):
    """The prompts of a file; `n_empty` rows in which every cell was empty were left out."""

    n_empty = 0


def read(name: str, data: bytes, most: int) -> Prompts:
    """The prompts of an uploaded file, at most so many, in the file's order.

    Raises:
        InputError: the file cannot be read to its end; the message names the line where there is one, and the way out.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"The name ends in {quote(suffix)}; files of prompts end in {', '.join(SUFFIXES)}.")
    if not data:
        raise InputError(f"The file is empty (0 bytes). Add at least one {PROMPT}.")
    _check_encoding(data)
    rows = list(_table(data, suffix, name) if suffix in READERS else _lines(data, name))
    prompts = Prompts(row for row in rows if row is not None)
    prompts.n_empty = len(rows) - len(prompts)
    if not prompts:
        raise InputError("The file has no prompt, only blank lines or a header. Add at least one prompt.")
    if len(prompts) > most:
        raise InputError(f"The file has {len(prompts):,} prompts; the limit is {most:,}. Split the file.")
    return prompts


def _check_encoding(data: bytes) -> None:
    with open_text(data) as stream:
        for number, line in enumerate(stream, start=1):
            check_text(line, number)


def _lines(data: bytes, name: str) -> Iterator[Prompt]:
    with open_text(data) as stream:  # \n, \r\n and \r alone end a line
        for line in stream:
            if line.strip():
                yield Prompt(line.removesuffix("\n"), name)


def _table(data: bytes, suffix: str, name: str) -> Iterator[Prompt | None]:
    """A prompt for each row, None for one of empty cells."""
    for record in read_records(data, suffix, PROMPT):
        if record.fault:
            raise InputError(f"{record.fault} Nothing of the file was taken.")
        place = _prompt_place(record)
        if record.is_header:
            continue
        yield None if record.is_blank else _prompt(record, place, name)


def _prompt(record: Record, place: int, name: str) -> Prompt:
    if half := half_character(json.dumps([record.names, record.values], ensure_ascii=False)):
        raise InputError(f"{record.where} {half}.")
    value, text = record.values[place], ""
    if is_conversation(value):
        text = _conversation(record, value)
    elif fault := fault_of(value):
        raise InputError(f"{record.where}: the {PROMPT} {fault}.")
    cells = [(label, as_text(value)) for label, value in zip(record.names, record.values, strict=True)]
    return Prompt(text or cells[place][1], name, (*cells[:place], *cells[place + 1 :]))


def _conversation(record: Record, messages: Sequence[Mapping[str, Any]]) -> str:
    """The turns as a prompt; behind one that ends with an answer no other begins."""
    is_answered = messages[-1].get("role") == "assistant"
    try:
        return Conversation(tuple(messages), add_generation_prompt=not is_answered).to_prompt()
    except InputError as error:
        raise InputError(f"{record.where}: {error}") from error


def _value(record: Record, place: int) -> object:
    return None if record.is_header else record.values[place]


def _prompt_place(record: Record) -> int:
    """The place of the prompt column or key, whatever its case.

    Raises:
        InputError: there is none, a name occurs twice, or there are too many.
    """
    names, where = record.names, record.where
    keys = [folded(name) for name in names]
    if PROMPT not in keys and keys.count(CHATS) == 1 and is_conversation(_value(record, keys.index(CHATS))):
        return keys.index(CHATS)
    if PROMPT not in keys and keys.count(CHATS) == 1 and not record.is_header:
        raise InputError(f"{where}: its “{CHATS}” is no list of turns, such as {EXAMPLE}.")
    if PROMPT not in keys:
        for name, value in zip(names, record.values, strict=False):
            if is_list_of_objects(value):
                raise InputError(f"{where}: its {quote(name)} {fault_of(value)}.")
        listed = ", ".join(map(quote, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
        pairs = ", or open the file on the page Experiments, which measures over sets of pairs"
        raise InputError(
            f"{where} has no column or key “{PROMPT}” (found: {listed or 'none'}). Name one of them “{PROMPT}”"
            f"{pairs if PAIRS & set(keys) else ''}."
        )
    twice = next((name for place, name in enumerate(names) if keys.index(folded(name)) != place), None)
    if twice is not None:
        raise InputError(f"{where} has {quote(twice)} twice, ignoring case. Rename one of the two.")
    if len(names) > MAX_COLUMNS:
        raise InputError(f"{where} has {len(names):,} columns; the limit is {MAX_COLUMNS}. Leave some out.")
    place = place_of(names, PROMPT)
    assert place is not None  # it stands there once
    return place
