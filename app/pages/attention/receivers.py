"""Sentences that later ones attend to, and the heads that single them out: vertical scores and receiver heads."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Column, Table, TokenValues, row_table, token_values
from headlight.app.frame import progress
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts import options
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import named, with_difference
from headlight.model.attention.axis import Axis, Unit
from headlight.model.attention.receiver_heads import ReceiverHeads, no_receiver_heads
from headlight.model.attention.receiver_tables import placed, receivers_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

THOUSANDTHS = 1000  # weights of single tokens on single tokens are small


def draw(comparison: Comparison, head: Head | None, axis: Axis, unit: Unit) -> None:
    """The sentences coloured by their vertical scores and the heads by kurtosis, where there are enough sentences."""
    if unit not in ("sentence", "turn"):
        return
    if reason := next(filter(None, (no_receiver_heads(run, unit) for run in comparison.runs)), ""):
        st.caption(plain(reason))
        return
    place = st.expander(
        plain(f"Which {unit}s later ones attend to, and which heads do (receiver heads)"),
        **selection.bind("sentences", Choices),
    )
    if not place.open:
        return
    with place:
        subject = (*(run.key for run in comparison.runs), unit)
        made = progress.watched(
            f"averaging attention between {unit}s",
            "layers done",
            "receivers",
            subject,
            lambda: receivers_of(comparison, unit),
        )
        if made:
            _sentences(comparison, made, head, axis, unit)
            _heads(comparison, made, axis, unit)


def _sentences(
    comparison: Comparison, made: dict[str, ReceiverHeads], head: Head | None, axis: Axis, unit: Unit
) -> None:
    n_heads = len(made["A"].receivers)
    of_head = head is not None and selection.current().choices_of(Choices).vertical == "head"
    titles = {"receivers": f"{n_heads} receiver heads"} | ({"head": head_name(head)} if head else {})
    heading("Vertical scores", "vertical_score")
    options.row(
        options.bind(Choice, "vertical", "Scores in", page=Choices, options=titles), name="vertical", whole=True
    )
    scores = {
        side: placed(each.vertical.values[head] if of_head else each.mean, side, axis) for side, each in made.items()
    }
    lines = named(comparison, {side: THOUSANDTHS * each.numpy() for side, each in with_difference(scores).items()}, "")
    token_values(
        TokenValues(
            axis.labels, lines, title=f"vertical score of each {unit} (thousandths)", signed=comparison.b is not None
        ),
        epoch=selection.epoch(),
        key=selection.widget_key("vertical_scores"),
    )


def _heads(comparison: Comparison, made: dict[str, ReceiverHeads], axis: Axis, unit: Unit) -> None:
    heading("Heads by kurtosis", "receiver_head")
    for side, each in made.items():
        read = {head: each.most_read(head) for head in each.ranked}
        places = axis.positions["AB".index(side)]
        drawn = [
            Column("Head", [head_name(head) for head in read]),
            Column("Kurtosis", [float(each.kurtosis.values[head]) for head in read], 1),
            Column(f"{unit.capitalize()} most attended to", [axis.labels[places.index(at)] for at in read.values()]),
            Column(
                "Its score (thousandths)",
                [THOUSANDTHS * float(each.vertical.values[head][at]) for head, at in read.items()],
                2,
            ),
        ]
        title = f"Heads by kurtosis of their vertical scores{'' if comparison.b is None else f', {side}'}"
        row_table(Table(drawn, title), key=selection.widget_key(f"receivers_{side}"), choosable=False)
