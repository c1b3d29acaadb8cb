"""One neuron over the session's list of prompts: where it is most active, and the texts coloured by it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from jaxtyping import Float

from headlight.app import selection
from headlight.app.components import Column, Table, TokenValues, row_table, token_values
from headlight.app.frame import means, notices, progress
from headlight.app.pages.mlp.neuron_view import NeuronView
from headlight.app.parts import options
from headlight.app.parts.parts import heading
from headlight.app.runs import jobs, runs
from headlight.app.runs.jobs import Jobs
from headlight.app.selection.choices import Change
from headlight.model.runs.edits import Neuron, neuron_name
from headlight.model.text.chat import Begin

CUT = 90  # characters of a prompt in the table
Inputs = tuple[str, str, Begin, Neuron]
"""What `runs.neuron_over` takes."""


@dataclass(frozen=True)
class Row:
    """Prompt of the list with the neuron's activation at each of its tokens."""

    text: str
    labels: Sequence[str]
    values: Float[np.ndarray, " pos"]

    @property
    def at(self) -> int:
        """Position where it is most active."""
        return int(self.values.argmax())


def draw(view: NeuronView) -> None:
    """Draw the button that runs the list, and the results so far."""
    name, wanted = neuron_name(view.neuron), _wanted(view)
    heading(f"{name} over your prompts", "neuron_prompts", key="neuron_prompts")
    if len(wanted) < means.LEAST:
        st.caption("Run other prompts, or upload a list on the page Prompts, to see where else it is active.")
        return
    _work(wanted)
    if rows := known(view, wanted):
        _draw(view, rows)
    progress.go_on(_jobs(), lambda inputs: runs.neuron_over(*inputs))


def _jobs() -> Jobs:
    return jobs.get_jobs("neuron over prompts")


def _wanted(view: NeuronView) -> list[Inputs]:
    run = view.comparison.a
    own = (each.prompt for each in view.comparison.runs)  # which join the list once they are drawn
    return [(run.source.name, text, run.bos, view.neuron) for text in dict.fromkeys((*own, *means.texts()))]


def _work(wanted: Sequence[Inputs]) -> None:
    work, left = _jobs(), [each for each in wanted if runs.neuron_over_or_none(*each) is None]
    work.keep_to(wanted)
    for reason in {work.refused[each] for each in left if each in work.refused}:
        notices.refused(reason, "neuron_prompts")
    open_ones = [each for each in left if each not in work.refused]
    count = f"{len(open_ones):,} prompt{'' if len(open_ones) == 1 else 's'}"
    progress.offer(work, open_ones, f"Run the neuron over {count}", "neuron_prompts", None)
    progress.bar(work, "prompts run", "neuron_prompts")


def known(view: NeuronView, wanted: Sequence[Inputs]) -> list[Row]:
    """The prompts that were run, those first on which the neuron is most active."""
    rows, tokenizer = [], view.comparison.a.tokenizer
    for inputs in wanted:
        if (measure := runs.neuron_over_or_none(*inputs)) is not None:
            _, text, bos, _ = inputs
            tokens = tokenizer.to_tokens(text, prepend_bos=bos)[0].tolist()
            rows.append(Row(text, tokenizer.labels(tokens), measure.values.numpy()))
    return sorted(rows, key=lambda row: -float(row.values.max()))


def _draw(view: NeuronView, rows: Sequence[Row]) -> None:
    place = row_table(
        Table(
            [
                Column("prompt", [row.text[:CUT] for row in rows]),
                Column("largest", [float(row.values.max()) for row in rows]),
                Column("at", [f"{row.at}  {row.labels[row.at]}" for row in rows]),
                Column("mean", [float(row.values.mean()) for row in rows]),
            ],
            title=f"Prompts by activation of {neuron_name(view.neuron)}",
            caption=f"{len(rows):,} prompts. Click a row to open it there.",
        ),
        epoch=selection.epoch(view.neuron, len(rows)),
        key=selection.widget_key("neuron_prompts_table"),
    )
    row = rows[place or 0]
    token_values(
        TokenValues(row.labels, {"": row.values}, title=f"activation of {neuron_name(view.neuron)}", signed=True),
        chosen=row.at,
        epoch=selection.epoch(view.neuron, row.text),
        key=selection.widget_key("neuron_prompt"),
    )
    opened = options.button("neuron_prompt_open", "Open as prompt A", lambda: open_as_a(view, row))
    options.row(opened, name="neuron_prompt", whole=True)


def open_as_a(view: NeuronView, row: Row) -> None:
    """Show a prompt as A, at the token where the neuron is most active in it."""
    now = replace(selection.current(), prompt=row.text, prompt_b=None, model_b="", edits=(), edits_off=())
    new = now.after(Change(prompt=True))
    selection.ask(replace(new, neuron=view.neuron, position=row.at, queries=(), keys=()), "mlp")
