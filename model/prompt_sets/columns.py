"""Which column of a table is which part of a row: given, or guessed from the names that other programs use."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from headlight.model.base.errors import InputError, nearest
from headlight.model.text.records import place_of

CLEAN = (
    *("clean", "clean_prompt", "clean_prompts", "clean_tokens", "clean_text"),
    *("prompt", "prompts", "tokens", "text", "input", "question", "sentence"),
)
CORRUPTED = (
    *("corrupted", "corrupt", "corrupted_prompt", "corrupted_prompts", "corrupt_prompt", "corrupt_prompts"),
    *("corrupted_tokens", "corrupt_tokens", "counterfactual", "counterfactual_prompt"),
    *("s2_io_flip_counterfactual.prompt", "symbol_counterfactual.prompt", "random_counterfactual.prompt"),
)
ANSWERS = (
    *("answers", "answer", "correct_idx", "correct", "correct_answer", "answer_tokens", "answer_token"),
    *("answer_token_indices", "target", "choices.label", "choices"),
)
WRONG_ANSWERS = (
    *("wrong_answers", "wrong_answer", "incorrect_idx", "incorrect", "incorrect_answer", "wrong", "distractor"),
    "distractors",
)
YEARS = ("label", "year")  # as EAP-IG and MIB call it, for greater-than; a label may also be a class
COUNTERFACTUAL = "_counterfactual.prompt"
KEY = "answerKey"
IDS = ("idx", "id", "ids", "token", "tokens", "indices", "index")  # how the name of a column of token ids ends
POSITIONS = "positions"
LABELS = "labels"


@dataclass(frozen=True)
class ColumnMatching:
    """The columns of a table that are parts of a row; all others are labels.

    A part of an object is a column of its own: "metadata.subject".

    Attributes:
        clean: the clean prompts.
        corrupted: the corrupted prompts; empty for none.
        answers: the right answers: one, several parted by "|", or a list; of "choices" the one that "answerKey" names.
        wrong_answers: the wrong answers. The same column as `answers`: all of its list but the right one, which is
            the first, or that of "answerKey".
        year: years of which the answers are all above, of two digits, and the wrong answers the others.
        positions: columns of positions, each called as its column: a token's index, or characters as "start:stop".
    """

    clean: str = ""
    corrupted: str = ""
    answers: str = ""
    wrong_answers: str = ""
    year: str = ""
    positions: tuple[str, ...] = ()

    def check(self, names: Sequence[str]) -> None:
        """Refuse a matching that names no clean prompt, an unknown column, or one column twice.

        Raises:
            InputError: it says which columns there are.
        """
        listed = ", ".join(names) or "none"
        if not self.clean:
            raise InputError(f"No column is known to hold the prompts. The columns are {listed}: say which it is.")
        for column in self.used:
            if column not in names:
                raise InputError(f"There is no column {column!r}.{nearest(column, names)} The columns are {listed}.")
        apart = [self.clean, self.corrupted, self.answers or self.year, *self.positions]
        if twice := next((column for at, column in enumerate(apart) if column and column in apart[:at]), None):
            raise InputError(f"The column {twice!r} is matched twice. Choose another for one of the two.")
        if self.wrong_answers in {self.clean, self.corrupted} - {""}:
            raise InputError(f"The column {self.wrong_answers!r} is matched twice. Choose another for one of the two.")
        if self.year and (self.answers or self.wrong_answers):
            raise InputError("A year gives the answers and the wrong answers itself. Leave out their columns, or it.")
        if self.wrong_answers and not self.answers:
            raise InputError("Wrong answers are matched and no answers. Say which column holds the answers.")

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are no labels."""
        single = (getattr(self, field.name) for field in fields(self) if field.name != "positions")
        return (*(column for column in single if column), *self.positions)


def guess(names: Sequence[str], row: Mapping[str, Any]) -> ColumnMatching:
    """The columns by the names that EAP-IG, auto-circuit, MIB, TransformerLens and ARENA use; empty where none fits."""
    clean, corrupted = _first(names, CLEAN), _first(names, CORRUPTED)
    corrupted = corrupted or next((name for name in names if name.endswith(COUNTERFACTUAL)), "")
    source = corrupted.removesuffix("prompt") if corrupted.endswith(COUNTERFACTUAL) else ""
    answers, wrong = _first(names, ANSWERS), _first(names, WRONG_ANSWERS)
    if not answers and f"{source}label" in names and "label" in names and source:
        answers, wrong = "label", f"{source}label"
    elif answers == "choices.label" and f"{source}{answers}" in names and source:
        wrong = f"{source}{answers}"
    elif answers and not wrong and _is_pair(row.get(answers)):
        wrong = answers
    prompt = row.get(clean)
    year = "" if answers or not corrupted else next((name for name in YEARS if _is_year(row.get(name), prompt)), "")
    positions = tuple(name for name in names if name.startswith(f"{POSITIONS}."))
    return ColumnMatching(clean, corrupted, answers, wrong, year, positions)


def holds_ids(column: str) -> bool:
    """Whether a column's name says that its numbers are token ids."""
    return column.rpartition(".")[2].casefold().rpartition("_")[2] in IDS


def key_of(column: str) -> str:
    """The column that says which of a column of choices is right."""
    parent, _, _ = column.rpartition("choices")
    return f"{parent}{KEY}"


def _first(names: Sequence[str], known: Sequence[str]) -> str:
    places = (place_of(names, name) for name in known)
    return next((names[place] for place in places if place is not None), "")


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) >= 2


def _is_year(value: object, prompt: object) -> bool:
    """Whether a cell is the year that its prompt names, or its last two digits; any other number is a label."""
    text = str(value).strip()
    if not text.isdigit() or len(text) not in (1, 2, 4):
        return False
    if not isinstance(prompt, str):  # token ids, in which no year can be read
        return len(text) > 1
    return re.search(rf"(?<!\d)\d\d{text[-2:].zfill(2)}(?!\d)", prompt) is not None
