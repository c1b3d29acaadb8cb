"""Sentences that later ones attend to, and the heads that single them out: vertical scores and receiver heads."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st
from jaxtyping import Float
from torch import Tensor

from headlight.app import selection
from headlight.app.components import Choice, Column, Table, TokenValues, row_table, token_values
from headlight.app.figures.colours import LEAST_KL
from headlight.app.frame import progress
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts import options
from headlight.app.parts.labels import quoted
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import named, with_difference
from headlight.app.runs.cost import logits_seconds
from headlight.model.attention.axis import Axis, Unit, turn_starts
from headlight.model.attention.hidden_sentence import cannot_hide, losses_without
from headlight.model.attention.receiver_heads import ReceiverHeads, no_receiver_heads
from headlight.model.attention.receiver_tables import placed, receivers_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

LOSSES = "headlight-losses"
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
            resumes=True,
        )
        if made:
            _sentences(comparison, made, head, axis, unit)
            with st.container(key=LOSSES):
                _losses(comparison, axis, unit)
            _heads(comparison, made, axis, unit)


def _sentences(
    comparison: Comparison, made: dict[str, ReceiverHeads], head: Head | None, axis: Axis, unit: Unit
) -> None:
    own = selection.current().choices_of(Choices)
    heading("Vertical scores", "vertical_score")
    if head is not None:
        titles = {"receivers": f"{len(made['A'].receivers)} receiver heads", "head": head_name(head)}
        choice = options.bind(Choice, "vertical", "Scores in", page=Choices, options=titles)
        options.row(choice, name="vertical", whole=True)
    before = own.hidden_on(axis)
    of_head = head if own.vertical == "head" else None
    values = vertical_values(comparison, made, of_head, axis, unit)
    hidden = _choose_in(replace(values, leads_to=LOSSES), before)
    if hidden != before:
        selection.update(Choices, hidden=hidden)


def _losses(comparison: Comparison, axis: Axis, unit: Unit) -> None:
    """What later sentences lose without the one that was clicked."""
    heading(f"What later {unit}s lose when one is hidden", "hidden_sentence", key="hidden_sentence")
    if reason := next(filter(None, map(cannot_hide, comparison.runs)), ""):
        st.caption(plain(reason))
        return
    hidden = selection.current().choices_of(Choices).hidden_on(axis)
    if hidden is None:
        seconds = sum(logits_seconds(run.cfg, len(run.tokens)) for run in comparison.runs)
        st.caption(plain(f"Click a {unit} above to hide it from all later ones (a pass of at most {seconds:.0f} s)."))
        return
    name = quoted(axis.labels[hidden], hidden)
    made = progress.watched(
        f"running without {name}",
        "steps done",
        "losses",
        (*(run.key for run in comparison.runs), unit, hidden),
        lambda: losses_without(comparison, unit, axis, hidden),
    )
    if made:
        st.caption(plain(f"Hidden from all later {unit}s: {name}"))
        losses = {side: measure.values for side, measure in with_difference(made).items()}
        values = _coloured(comparison, axis, losses, "KL of the next token's distribution (nats)", unit, LEAST_KL)
        _choose_in(values, hidden, "losses")


def vertical_values(
    comparison: Comparison, made: Mapping[str, ReceiverHeads], head: Head | None, axis: Axis, unit: Unit
) -> TokenValues:
    """The sentences coloured by their vertical scores in a head, or in the mean of the receiver heads."""
    scores = {
        side: placed(each.mean if head is None else each.vertical.values[head], side, axis)
        for side, each in made.items()
    }
    thousandths = {side: THOUSANDTHS * values for side, values in with_difference(scores).items()}
    return _coloured(comparison, axis, thousandths, f"vertical score of each {unit} (thousandths)", unit)


def _coloured(
    comparison: Comparison,
    axis: Axis,
    values: Mapping[str, Float[Tensor, " place"]],
    title: str,
    unit: Unit,
    least: float = 0.0,
) -> TokenValues:
    """The sentences coloured by values of A, B and B − A."""
    lines = named(comparison, {side: each.numpy() for side, each in values.items()}, "")
    signed = comparison.b is not None
    turns = turn_starts(comparison, axis)
    return TokenValues(axis.labels, lines, title, signed=signed, lacks="has none", unit=unit, least=least, turns=turns)


def _choose_in(values: TokenValues, chosen: int | None, key: str = "vertical_scores") -> int | None:
    return token_values(values, chosen=chosen, epoch=selection.epoch(), key=selection.widget_key(key))


def _heads(comparison: Comparison, made: dict[str, ReceiverHeads], axis: Axis, unit: Unit) -> None:
    heading("Heads by kurtosis", "receiver_head")
    for side, ranked in kurtosis_tables(comparison, made, axis, unit).items():
        row_table(ranked, key=selection.widget_key(f"receivers_{side}"), choosable=False)


def kurtosis_tables(
    comparison: Comparison, made: Mapping[str, ReceiverHeads], axis: Axis, unit: Unit
) -> dict[str, Table]:
    """The heads of each run by the kurtosis of their vertical scores, with the sentence that each singles out."""
    tables = {}
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
        tables[side] = Table(drawn, title)
    return tables
