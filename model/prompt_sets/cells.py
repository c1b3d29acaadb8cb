"""The cells of a table as the parts of a row: prompts, answers and places."""

import json
import re
from collections.abc import Mapping
from typing import Any

from headlight.model.base.errors import InputError
from headlight.model.prompt_sets.columns import LABELS, POSITIONS, ColumnMatching, holds_ids, key_of
from headlight.model.prompt_sets.prompt_set import Answer, Place, Prompt, PromptPair
from headlight.model.text.records import as_text, fault_of, half_character, quote

ALTERNATIVES = "|"  # between several answers in one cell
SPAN = re.compile(r"\s*(\d{1,9})\s*[:-]\s*(\d{1,9})\s*")
N_YEARS = 100


def pair_of(row: Mapping[str, Any], matching: ColumnMatching, word_places: Mapping[str, Place]) -> PromptPair:
    """A row of a table as a pair of prompts; columns that are not matched are labels.

    Raises:
        InputError: a cell holds something else than it should.
    """
    answers, wrong = _answers(row, matching)
    used = {*matching.used, *((key_of(matching.answers),) if "choices" in matching.answers else ())}
    labels = {
        name.removeprefix(f"{LABELS}."): as_text(value)
        for name, value in row.items()
        if name not in used and value is not None and name
    }
    return PromptPair(
        clean=_prompt(row.get(matching.clean), matching.clean),
        corrupted=None if not matching.corrupted else _optional_prompt(row.get(matching.corrupted), matching.corrupted),
        answers=answers,
        wrong_answers=wrong,
        positions={
            **{name: (place, place) for name, place in word_places.items()},
            **{
                column.removeprefix(f"{POSITIONS}."): _places(row[column], column)
                for column in matching.positions
                if row.get(column) not in (None, "")
            },
        },
        labels=labels,
    )


def place_of_token(value: object, column: str) -> Place:
    """A place: a token's index, or a span of characters as "start:stop" or [start, stop].

    Raises:
        InputError: it is none.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (match := SPAN.fullmatch(value)):
        return int(match[1]), int(match[2])
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value):
        return int(value)
    if isinstance(value, list | tuple) and len(value) == 2 and all(type(end) is int for end in value):
        return value[0], value[1]
    raise InputError(
        f"its {quote(column)} is {quote(as_text(value))}, no position. Give a token's index, or characters as "
        '"start:stop".'
    )


def _prompt(value: object, column: str) -> Prompt:
    if isinstance(value, str) and holds_ids(column) and (ids := _listed(value)):
        value = ids
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], list | tuple):
        value = value[0]  # a batch of one, as to_tokens gives it
    if isinstance(value, list | tuple) and value and all(type(token) is int for token in value):
        return tuple(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"its {quote(column)} {fault_of(value)}, or a list of token ids.")
    if half := half_character(value):
        raise InputError(f"its {quote(column)} {half}.")
    return value


def _optional_prompt(value: object, column: str) -> Prompt | None:
    return None if value is None else _prompt(value, column)


def _answers(row: Mapping[str, Any], matching: ColumnMatching) -> tuple[tuple[Answer, ...], tuple[Answer, ...]]:
    if matching.year:
        return _above(row.get(matching.year, ""), matching.year)
    if not matching.answers:
        return (), ()
    chosen, others = _choice(row, matching.answers, is_pair=matching.wrong_answers == matching.answers)
    if matching.wrong_answers in ("", matching.answers):
        return chosen, others if matching.wrong_answers else ()
    wrong, _ = _choice(row, matching.wrong_answers, is_pair=False)
    return chosen, tuple(answer for answer in wrong if answer != "")


def _choice(row: Mapping[str, Any], column: str, is_pair: bool) -> tuple[tuple[Answer, ...], tuple[Answer, ...]]:
    """The answers of a cell and, where it is a list of choices, the other ones."""
    answers = _texts_or_ids(row.get(column), column)
    key = row.get(key_of(column)) if "choices" in column else None
    if key is None and not is_pair:
        return answers, ()
    at = _index(key, answers) if key is not None else 0
    return answers[at : at + 1], (*answers[:at], *answers[at + 1 :])


def _index(key: object, answers: tuple[Answer, ...]) -> int:
    text = str(key).strip()
    if text.isdigit() and int(text) < len(answers):
        return int(text)
    if text in answers:
        return answers.index(text)
    raise InputError(f"its answerKey is {quote(as_text(key))}, and there are {len(answers)} choices. Give one's index.")


def _texts_or_ids(value: object, column: str) -> tuple[Answer, ...]:
    if value is None:
        return ()
    if isinstance(value, str) and value.lstrip()[:1] == "[" and (listed := _listed(value)):
        value = listed
    if isinstance(value, str):
        cells: list[object] = [*value.split(ALTERNATIVES)] if value.strip(" |") else [value]
        space = value[: len(value) - len(value.lstrip(" "))]
        cells = [cell if at == 0 else space + str(cell).removeprefix(space) for at, cell in enumerate(cells)]
    else:
        cells = list(value) if isinstance(value, list | tuple) else [value]
    return tuple(_answer(cell, column) for cell in cells)


def _answer(cell: object, column: str) -> Answer:
    if isinstance(cell, list | tuple) and len(cell) == 1:
        cell = cell[0]
    if isinstance(cell, bool) or not isinstance(cell, str | int):
        raise InputError(f"its {quote(column)} holds {quote(as_text(cell))}, no answer. Give texts, or token ids.")
    if isinstance(cell, int):
        return str(cell) if column.rpartition(".")[2] == "label" else cell
    if holds_ids(column) and cell.strip():
        if not re.fullmatch(r"\s*\d{1,9}(\.0)?\s*", cell):
            raise InputError(f"its {quote(column)} is {quote(cell)}, no token id. Give a number, or rename the column.")
        return int(float(cell))
    return cell


def _above(value: object, column: str) -> tuple[tuple[Answer, ...], tuple[Answer, ...]]:
    """The years of two digits above one, and the others."""
    text = str(value).strip()
    if not text.isdigit() or len(text) not in (1, 2, 4):
        raise InputError(f"its {quote(column)} is {quote(text)}, no year. Give its last two digits.")
    years = [f"{year:02d}" for year in range(N_YEARS)]
    first = int(text) % N_YEARS + 1
    if first == N_YEARS:
        raise InputError(f"its {quote(column)} is 99, above which there is no year of two digits. Leave the row out.")
    return tuple(years[first:]), tuple(years[:first])


def _places(value: object, column: str) -> tuple[Place, Place | None]:
    """The place in both prompts, or an object that has one for each."""
    if isinstance(value, Mapping):
        other = value.get("corrupted")
        there = None if other is None else place_of_token(other, column)
        return place_of_token(value.get("clean"), column), there
    return place_of_token(value, column), None


def _listed(text: str) -> list[Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) and value else None
