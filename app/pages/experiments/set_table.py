"""The rows of a set with a model's answers: listed, filtered, and opened as A and B on any page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Column, Table, Text, row_table
from headlight.app.exports.csv_files import Cell
from headlight.app.frame import notices
from headlight.app.pages.experiments import opening
from headlight.app.pages.experiments.choices import Choices, RowsShown
from headlight.app.parts import options
from headlight.app.parts.markdown import plain
from headlight.app.runs.prompt_sets import ReadSet
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet
from headlight.model.prompt_sets.performance import Performance
from headlight.model.prompt_sets.prompt_set import Prompt, PromptPair
from headlight.model.runs.run import Run
from headlight.model.text.outputs import Outputs

CELL = 160  # characters of a prompt in the table; the pair is opened, and the csv file written, in full
MIN_ACCURACY = 0.5  # below which a model is said to fail a set
MAX_LISTED = 2_000  # rows that a browser is given at once; the csv file has all
ROWS_SHOWN: dict[RowsShown, str] = {"all": "All", "correct": "Right", "wrong": "Wrong", "refused": "Not used"}


Cells = dict[str, list[Cell]]


@dataclass(frozen=True, eq=False)
class SetRows:
    """A set as one model reads it, and what is known of its answers."""

    read: ReadSet
    tokens: TokenSet
    performance: Performance | None

    @property
    def pairs(self) -> Sequence[PromptPair]:
        """The rows as they are written."""
        return self.read.known.prompt_set.rows

    @property
    def by_number(self) -> Mapping[int, TokenRow]:
        """The rows that can be used, by their numbers."""
        return {row.number: row for row in self.tokens.rows}


@dataclass(frozen=True)
class Answered:
    """What is known of a row: its metric in both prompts, the best answer's rank, and whether it is right."""

    clean: float
    corrupted: float
    rank: int
    is_correct: bool


def answered(rows: SetRows) -> dict[int, Answered]:
    """What is known of each row, by its number."""
    performance = rows.performance
    if performance is None:
        return {}
    columns = (
        performance.numbers,
        performance.clean.tolist(),
        performance.corrupted.tolist(),
        performance.rank.tolist(),
        performance.is_correct.tolist(),
    )
    return {number: Answered(*others) for number, *others in zip(*columns, strict=True)}


def said(rows: SetRows) -> str:
    """How many rows there are, how many can be used, and how well the model does."""
    n_rows, n_used = len(rows.pairs), len(rows.tokens.rows)
    parts = [f"{n_rows:,} row{'' if n_rows == 1 else 's'}"]
    if rows.tokens.refused:
        parts.append(f"{n_rows - n_used:,} cannot be used")
    if (performance := rows.performance) is not None:
        n_right = int(performance.is_correct.sum())
        unit = "logits" if performance.kind == "logit_diff" else "of probability"
        parts.append(f"right in {n_right:,} of {len(performance.numbers):,} ({performance.accuracy:.0%})")
        means = f"mean difference {_number(performance.mean_clean)} {unit}"
        if not np.isnan(performance.mean_corrupted):
            means += f", corrupted {_number(performance.mean_corrupted)}"
        parts.append(means)
    return " · ".join(parts)


def failure(rows: SetRows) -> str:
    """What to know of a set that the model mostly fails; nothing of another, or before all its rows are answered."""
    answers = rows.performance
    if answers is None or len(answers.numbers) < len(rows.tokens.rows) or answers.accuracy >= MIN_ACCURACY:
        return ""
    n_right = int(answers.is_correct.sum())
    return (
        f"The model answers {n_right:,} of {len(answers.numbers):,} rows correctly, so that the set says little of how "
        "it does the task. Choose another set or model, or leave the other rows out by Right rows only."
    )


def _number(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def filtered(rows: SetRows, own: Choices) -> list[int]:
    """The numbers of the rows that the filter leaves."""
    known, text = answered(rows), own.rows_with.casefold()

    def is_shown(number: int) -> bool:
        match own.rows_shown:
            case "refused":
                return number in rows.tokens.refused
            case "correct" | "wrong":
                return number in known and known[number].is_correct == (own.rows_shown == "correct")
        return True

    def has_text(pair: PromptPair) -> bool:
        written = (pair.clean, pair.corrupted or "", *pair.answers, *pair.wrong_answers, *pair.labels.values())
        return any(text in str(part).casefold() for part in written)

    numbers = enumerate(rows.pairs, start=1)
    return [number for number, pair in numbers if is_shown(number) and (not text or has_text(pair))]


def columns(rows: SetRows, numbers: Sequence[int], outputs: Outputs) -> Cells:
    """The rows of these numbers for a table or a file: what is written, the answers, and what the model makes of it."""
    known, tokens = answered(rows), rows.by_number
    pairs = [rows.pairs[number - 1] for number in numbers]
    cells: Cells = {
        "row": list(numbers),
        "prompt": [written(pair.clean) for pair in pairs],
        "corrupted": [None if pair.corrupted is None else written(pair.corrupted) for pair in pairs],
        "answer": [_answers(tokens.get(number), outputs, wrong=False) for number in numbers],
        "wrong answer": [_answers(tokens.get(number), outputs, wrong=True) for number in numbers],
        "difference": [known[number].clean if number in known else None for number in numbers],
        "corrupted difference": [known[number].corrupted if number in known else None for number in numbers],
        "rank": [known[number].rank if number in known else None for number in numbers],
        "status": [_status(rows, known, number) for number in numbers],
    }
    for name in rows.read.known.prompt_set.label_names:
        cells[f"label {name}" if name in cells else name] = [pair.labels.get(name) for pair in pairs]
    return cells


def written(prompt: Prompt) -> str:
    """A prompt in one text: its own, or its token ids."""
    return prompt if isinstance(prompt, str) else " ".join(map(str, prompt))


def _answers(row: TokenRow | None, outputs: Outputs, wrong: bool) -> str | None:
    if row is None:
        return None
    ids = row.wrong_answers if wrong else row.answers
    listed = outputs.labels(list(ids[:3]))
    return " / ".join(listed) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "") or None


def _status(rows: SetRows, known: Mapping[int, Answered], number: int) -> str:
    if number in rows.tokens.refused:
        return "not used"
    return ("right" if known[number].is_correct else "wrong") if number in known else "not run"


def filters() -> None:
    """The options that say which rows are listed."""
    options.row(
        options.bind(Choice, "rows_shown", "Rows", page=Choices, options=ROWS_SHOWN, change=selection.choose),
        options.bind(Text, "rows_with", "With", page=Choices, placeholder="any text", width=110),
        name="set_rows",
        whole=True,
    )


def draw(rows: SetRows, run: Run, key: str) -> None:
    """The table of the rows that are shown; a row chosen in it can be opened."""
    own = selection.current().choices_of(Choices)
    numbers = filtered(rows, own)
    if not numbers:
        st.caption("No row matches this filter.")
        return
    listed = numbers[:MAX_LISTED]
    cells = columns(rows, listed, run.outputs)
    place = row_table(
        Table(_columns(cells), title="Rows of the set"),
        epoch=selection.epoch(rows.read, tuple(listed)),
        key=selection.widget_key(f"set_table{key}"),
    )
    if len(numbers) > MAX_LISTED:
        st.caption(plain(f"The first {MAX_LISTED:,} of {len(numbers):,} rows are listed; the files have all."))
    if place is None:
        st.caption("Click a row to open it as A | B, a column name to sort.")
    else:
        draw_row(rows, listed[place], run, key)


def _columns(cells: Mapping[str, Sequence[Cell]]) -> list[Column]:
    decimals = {"difference": 2, "corrupted difference": 2}
    heads = {"row": "#", "difference": "diff.", "corrupted difference": "corr."}
    leaves = {"corrupted", "wrong answer", "rank"}  # the chosen row tells them, and the file
    if len(set(cells["status"])) == 1:
        leaves.add("status")  # the line above the table says it of all
    return [
        Column(heads.get(name, name), list(map(cut, column)), decimals.get(name), signed=name in decimals)
        for name, column in cells.items()
        if name not in leaves and any(cell is not None for cell in column)
    ]


def cut(cell: Cell) -> Cell:
    """A cell's text, shortened."""
    return f"{cell[:CELL]}…" if isinstance(cell, str) and len(cell) > CELL else cell


def draw_row(rows: SetRows, number: int, run: Run, key: str, head: tuple[int, int] | None = None) -> None:
    """A row's two prompts, or why it cannot be used, and the pages that open it."""
    pair, row = rows.pairs[number - 1], rows.by_number.get(number)
    with st.container(key=f"headlight-said-row{key}"):
        if row is None:
            notices.refused(rows.tokens.refused[number], f"set_row{key}")
            return
        st.text(f"A: {cut(written(pair.clean))}")
        if pair.corrupted is not None:
            st.text(f"B: {cut(written(pair.corrupted))}")
        cells = columns(rows, [number], run.outputs)
        parts = (
            f"{name} {cells[name][0]}" for name in ("answer", "wrong answer", "rank") if cells[name][0] is not None
        )
        st.text(f"Row {number}: {', '.join(parts)}")
        opened = opening.pair_of(pair, row, run, rows.read.bos)
        if not opened.exact:
            st.caption("The text of these token ids is read as other tokens: the pages show the text.")
        options.row(*opening.links(opened, head), name=f"set_row{key}", whole=True)
