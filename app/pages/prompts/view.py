"""The session's prompts: uploaded and typed ones in one table, every head's statistics over them, and the last runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Table, row_table
from headlight.app.exports.csv_files import Cell, csv_bytes
from headlight.app.frame import notices, progress, prompt_list
from headlight.app.frame.prompt_list import Prompt
from headlight.app.glossary import TERMS
from headlight.app.pages.prompts import prompt_files, prompt_statistics
from headlight.app.pages.prompts.choices import Choices, Statistic
from headlight.app.parts import charts, uploading
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.scores import SCORES
from headlight.app.runs import jobs, runs
from headlight.app.server import boundary
from headlight.app.server.settings import settings
from headlight.model.base.errors import InputError
from headlight.model.roles.statistics import HeadStatistics
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.text.conversation import Conversation, is_conversation_prompt

CELL = 200  # characters of a prompt or label in the table; the prompt is opened, and the csv file written, in full
OPENED_ON = "attention"


@dataclass
class _Upload:
    """Result of the last upload; `count` makes each uploader a new one, empty again."""

    taken: str = ""
    refused: str = ""


@dataclass(frozen=True)
class Listed:
    """One prompt of the list as the page showed it, without numbers: whether it was run, or why it cannot be."""

    prompt: Prompt
    run: bool
    refused: str


@dataclass(frozen=True)
class Row:
    """Prompt of the list, with its results; `refused` says why there can be none."""

    prompt: Prompt
    known: HeadStatistics | None
    refused: str

    @property
    def status(self) -> str:
        """Status in the table."""
        return "run" if self.known else self.refused or "not run"

    def value(self, head: Head, statistic: Statistic) -> float | None:
        """A statistic of a head; None where it is not known, or the prompt has no such token."""
        if self.known is None:
            return None
        value = float(self.known.scores[statistic].values[head])
        return None if value != value else value


def render(comparison: Comparison) -> None:
    """The uploader, the table of all prompts, their statistics, and the last runs."""
    prompt_list.note(selection.current(), prompt_list.LIST_PAGE)  # this page may be the first that is opened
    rows = _rows()
    known = distinct(rows)
    with title_row("Prompts", "prompt_files", level=1):
        prompt_statistics.choose(comparison.a, known)
        _uploader()
    _say_what_was_taken()
    _progress(rows)
    head = prompt_statistics.listed_head(comparison.a, known, selection.current())
    _table(rows, head)
    if known:
        prompt_statistics.draw(comparison.a, known)
        plots = prompt_statistics.rows(known, head, selection.current().choices_of(Choices).statistic)
        charts.draw(
            plots, f"The statistic of {head_name(head)} over the prompts, and the mean and deviation of every head"
        )
    _past_runs()
    progress.go_on(jobs.get_jobs("prompts"), _statistics)


def listed() -> tuple[Listed, ...]:
    """The list as it stands, for files that are made later, outside the session."""
    return tuple(Listed(row.prompt, row.known is not None, row.refused) for row in _rows())


def distinct(rows: Sequence[Row]) -> list[HeadStatistics]:
    """The statistics of the prompts that were run; one that is listed twice counts once."""
    return list({row.prompt.text: row.known for row in rows if row.known}.values())


def _statistics(inputs: runs.Inputs) -> HeadStatistics:
    """Each head's scores on a prompt.

    Raises:
        HeadlightError: it cannot be run, as a conversation without the chat template cannot.
    """
    _, text, begin = inputs
    if begin != "chat" and is_conversation_prompt(text):
        raise InputError("This is a conversation: open it, or choose the chat template under Begin with, and run it.")
    return runs.head_statistics(*inputs)


def _inputs() -> list[runs.Inputs]:
    now = selection.current()
    return [(now.model, prompt.text, now.bos) for prompt in prompt_list.prompts()]


def _rows() -> list[Row]:
    refused = jobs.get_jobs("prompts").refused
    return [
        Row(prompt, runs.head_statistics_or_none(*inputs), refused.get(inputs, ""))
        for prompt, inputs in zip(prompt_list.prompts(), _inputs(), strict=True)
    ]


def _upload() -> _Upload:
    return st.session_state.setdefault("upload", _Upload())


def _uploader() -> None:
    uploading.uploader(
        "Upload prompts",
        "One prompt a line (.txt), a column “prompt” (.csv, .tsv), or a key “prompt” or, of a chat, “messages” "
        "(.jsonl, .json), in UTF-8",
        prompt_files.SUFFIXES,
        "upload",
        _take,
    )


def _say_what_was_taken() -> None:
    upload = _upload()
    if upload.refused:
        notices.refused(upload.refused, "upload")
    if upload.taken:
        st.text(upload.taken)


def _take(name: str, data: bytes) -> None:
    upload = _upload()
    upload.taken, upload.refused = "", ""

    def refuse(reason: str) -> None:
        upload.refused = f"Could not read {name}. {reason}"

    with boundary.guard(refuse):
        most = settings().upload_prompts
        prompts = prompt_files.read(name, data, most)
        new, empty = prompt_list.add(prompts, most), prompts.n_empty
        upload.taken = f"{new:,} new prompt{'' if new == 1 else 's'} from {name}"
        if empty:
            upload.taken += f"; {empty:,} row{'' if empty == 1 else 's'} of empty cells left out"


def _progress(rows: Sequence[Row]) -> None:
    """The button that runs all prompts, and while it does, how far it is and the button that stops it."""
    running, open_rows = jobs.get_jobs("prompts"), sum(row.status == "not run" for row in rows)
    unknown = [each for each in _inputs() if runs.head_statistics_or_none(*each) is None] if open_rows else []
    progress.bar(running, "prompts run", "prompts")
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Run {open_rows:,} prompt{'' if open_rows == 1 else 's'}"
        progress.offer(running, unknown, label, "prompts", None)
        refused = sum(bool(row.refused) for row in rows)
        cannot = f", {refused:,} cannot run: click one to see why" if refused else ""
        done = sum(row.status == "run" for row in rows)
        st.caption(plain(f"{done:,} of {len(rows):,} run{cannot}"), width="content")


def _table(rows: Sequence[Row], head: Head) -> None:
    statistic = selection.current().choices_of(Choices).statistic
    own, labels = _own_columns(rows, head, statistic), _label_columns(rows)
    own[prompt_files.PROMPT] = [as_read(row.prompt.text) for row in rows]
    text, value, *others = (Column(name, list(map(cut, cells))) for name, cells in [*own.items(), *labels.items()])
    value = replace(value, decimals=3, help=TERMS[SCORES[statistic].term])
    chosen = row_table(
        Table(
            [text, value, *others],
            title="All prompts with their statistic, number of tokens and status",
            caption="Click a row to open its prompt, a column name to sort.",
        ),
        epoch=selection.epoch(prompt_list.prompts()),
        key=selection.widget_key("prompt_table"),
    )
    _row_buttons(rows, lambda: csv_bytes(columns(rows, head, statistic)), chosen)


def columns(rows: Sequence[Row], head: Head, statistic: Statistic) -> dict[str, list[Cell]]:
    """The table for a file, where no label's name can be that of another column."""
    labels = {f"label {name}": column for name, column in _label_columns(rows).items()}
    return _own_columns(rows, head, statistic) | labels


def _own_columns(rows: Sequence[Row], head: Head, statistic: Statistic) -> dict[str, list[Cell]]:
    """Columns of every prompt: text, statistic of the head, number of tokens, status and source."""
    return {
        prompt_files.PROMPT: [row.prompt.text for row in rows],
        f"{head_name(head)} {SCORES[statistic].title}": [row.value(head, statistic) for row in rows],
        "tokens": [row.known.n_tokens if row.known else None for row in rows],
        "status": [row.status for row in rows],
        "from": [row.prompt.source for row in rows],
    }


def _label_columns(rows: Sequence[Row]) -> dict[str, list[Cell]]:
    """A column for each label that any prompt has."""
    labels = [dict(row.prompt.labels) for row in rows]
    return {name: [row.get(name) for row in labels] for name in dict.fromkeys(name for row in labels for name in row)}


def as_read(prompt: str) -> str:
    """A prompt as a person reads it: of a conversation what each role says, in place of its JSON."""
    if not is_conversation_prompt(prompt):
        return prompt
    try:
        messages = Conversation.from_prompt(prompt).messages
    except InputError:
        return prompt
    return " · ".join(f"{message['role']}: {message['content']}" for message in messages)


def cut(cell: Cell) -> Cell:
    """A cell's text, shortened."""
    return f"{cell[:CELL]}…" if isinstance(cell, str) and len(cell) > CELL else cell


def _row_buttons(rows: Sequence[Row], file: Callable[[], bytes], chosen: int | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        for side in ("A", "B"):
            st.button(
                plain(f"Open as {side}"),
                disabled=chosen is None,
                on_click=lambda side=side: _open(rows[chosen or 0].prompt.text, side),
                key=selection.widget_key(f"open_{side}"),
            )
        st.button(
            "Remove",
            disabled=chosen is None,
            on_click=lambda: prompt_list.remove([chosen or 0]),
            key=selection.widget_key("remove"),
        )
        st.button(
            "Clear the list",
            on_click=lambda: prompt_list.remove(range(len(rows))),
            key=selection.widget_key("clear"),
        )
        prompt_statistics.download("Download prompts", "prompts.csv", file)
    if chosen is not None and rows[chosen].refused:
        notices.refused(rows[chosen].refused, "row")


def _open(text: str, side: str) -> None:
    now = selection.current()
    now = replace(now, bos="chat") if is_conversation_prompt(text) else now
    selected = replace(now, prompt=text) if side == "A" else replace(now, prompt_b=text)
    selection.ask_instead(selected, OPENED_ON)


def edits_said(chosen: selection.Selection) -> str | None:
    """Number of edits that made B from A, if any."""
    count = len(chosen.edits_on)
    return f"A with {count} edit{'s' if count > 1 else ''}" if count else None


def _past_runs() -> None:
    heading("Last runs", "past_runs")
    past = prompt_list.past_runs()
    chosen = row_table(
        Table(
            [
                Column("A", [cut(run.selection.prompt) for run in past]),
                Column("B", [cut(run.selection.prompt_b) or edits_said(run.selection) for run in past]),
                Column(
                    "Model", [" | ".join(filter(None, (run.selection.model, run.selection.model_b))) for run in past]
                ),
                Column("Page", [run.title for run in past]),
            ],
            title="The last runs, newest first",
        ),
        epoch=selection.epoch(tuple(run.inputs for run in past)),
        key=selection.widget_key("past_runs"),
    )
    st.button(
        "Restore this run",
        disabled=chosen is None,
        on_click=lambda: selection.ask(past[chosen or 0].selection, past[chosen or 0].page),
        key=selection.widget_key("go_back"),
    )
