"""Outputs of a tagger, a question answerer or a value head at each token, as a table behind a button."""

import streamlit as st

from headlight.app.components import Column, Table, row_table
from headlight.app.parts.markdown import plain
from headlight.app.selection import widget_key
from headlight.model.measure.likelihood import probabilities
from headlight.model.runs.outputs import outputs_by_token, values_of
from headlight.model.runs.run import Run

MAX_OUTPUTS = 2  # of each of so many a column; of more the likeliest and its probability


def draw(run: Run, side: str) -> None:
    """A button that opens the table; nothing where the model has one output for the whole text."""
    if (name := _called(run)) == "":
        return
    place = st.popover(plain(name), type="tertiary", key=widget_key(f"outputs{side}"), on_change="rerun")
    if place.open:
        with place:
            row_table(
                Table(columns(run), f"{name} {side}"),
                key=widget_key(f"outputs_table{side}"),
                choosable=False,
                whole=True,
            )


def _called(run: Run) -> str:
    if run.cfg.value_head:
        return "Value at each token"
    by_output = {"token labels": "Label of each token", "answer span": "Start and end at each token"}
    return by_output.get(run.cfg.output, "")


def columns(run: Run) -> list[Column]:
    """Tokens with their positions, and the model's output at each."""
    first = [Column("position", list(range(len(run.labels))), 0), Column("token", list(run.labels))]
    if run.cfg.value_head:
        return [*first, Column("value", values_of(run).values.tolist(), 4, signed=True)]
    logits, names = outputs_by_token(run).values, run.label_names
    if len(names) <= MAX_OUTPUTS and run.cfg.output == "answer span":
        columns = zip(names, logits.T.tolist(), strict=True)
        return [*first, *(Column(f"{name} (logit)", values, 3, signed=True) for name, values in columns)]
    if len(names) == 1:
        return [*first, Column(f"{names[0]} (probability)", probabilities(logits)[:, 0].tolist(), 3)]
    top = probabilities(logits).max(-1)
    labels = run.outputs.labels(top.indices)
    return [*first, Column("label", labels), Column("probability", top.values.tolist(), 3)]
