"""One place of the lens: the ten best tokens of a cell, and a followed token's way through the layers."""

import numpy as np
import streamlit as st
from jaxtyping import Int

from app import runs, selection
from app.components import LensPin, Line, SignedBar, line_chart, signed_bars
from app.run import Run
from app.shown import Shown
from app.views import tables
from app.views.parts import heading
from app.views.sides import layer_labels, named, positions_at, say_what_is_missing, with_difference
from model.analysis import Measure
from model.analysis.lens import LogitLens


def read(run: Run) -> LogitLens:
    """The lens of a run; the same whichever token is followed."""
    return runs.kept(run, "lens", lambda: runs.logit_lens(run))


def followed(run: Run, token: int) -> Measure:
    """A token's probability after every layer, at every position."""
    return runs.kept(run, ("followed", token), lambda: runs.followed_probabilities(run, read(run), token))


def draw(shown: Shown, pin: LensPin, token: int) -> None:
    """The ten best tokens of the pinned cell in each run, and the followed token at its place."""
    say_what_is_missing(shown, pin.position)
    columns = st.columns(2, gap="large")
    for column, side in zip(columns, positions_at(shown, pin.position), strict=False):
        with column:
            _best(shown, side, pin)
    with columns[1] if shown.b is None else st.container():
        heading(f"The followed token at position {pin.position}", "lens_target", "lens_rank", key="followed")
        st.text(shown.a.tokenizer.labels([token])[0])
        _way(shown, pin.position, token)


def _best(shown: Shown, side: str, pin: LensPin) -> None:
    run, (label, suffix) = shown.sides[side], (layer_labels(shown)[pin.layer], "" if shown.b is None else f" in {side}")
    heading(f"Ten best after {label}, position {pin.position}{suffix}", "lens_top", key=f"best{suffix}")
    if pin.layer >= len(run.layer_labels):
        st.caption(f"{side} has no {label}. Its last layer is {run.layer_labels[-1]}.")
        return
    cell = pin.layer, positions_at(shown, pin.position)[side]
    labels = run.tokenizer.labels(read(run).top_tokens.values[cell])
    probabilities = read(run).top_probs.values[cell].numpy()
    if selection.current().table:
        tables.draw({"Token": labels, "Probability": probabilities}, f"Ten best tokens of the pinned cell{suffix}")
        return
    bars = [SignedBar(label, [(0.0, float(p))], f"{p:.2%}") for label, p in zip(labels, probabilities, strict=True)]
    signed_bars(bars, title="probability", reach=_largest(shown, pin), key=selection.widget_key(f"best {side}"))


def _largest(shown: Shown, pin: LensPin) -> float:
    """The end of the scale that the runs' bars share."""
    return max(
        float(read(run).top_probs.values[pin.layer, position].max())
        for side, position in positions_at(shown, pin.position).items()
        if pin.layer < len((run := shown.sides[side]).layer_labels)
    )


def _way(shown: Shown, place: int, token: int) -> None:
    here = {side: (shown.sides[side], position) for side, position in positions_at(shown, place).items()}
    probabilities = {side: followed(run, token).values[:, position].numpy() for side, (run, position) in here.items()}
    ranks = {side: _ranks(run, token, position) for side, (run, position) in here.items()}
    layers = layer_labels(shown)
    if selection.current().table:
        both = named(shown, with_difference(probabilities), "")
        columns = {f"Probability {side}".strip(): values for side, values in both.items()}
        columns |= {f"Rank {side}".strip(): values * 1.0 for side, values in named(shown, ranks, "").items()}
        tables.draw(tables.of_rows("After layer", layers, columns), "Probability and rank of the followed token")
        return
    lines = [
        Line(
            side if shown.b is not None else "",
            tables.filled(probabilities[side], len(layers)),
            [f"#{rank:,}" for rank in ranks[side]],
            dashed=side == "B",
        )
        for side in here
    ]
    key = selection.widget_key("followed")
    line_chart(lines, layers, title="probability (and rank)", along="after layer", percent=True, key=key)


def _ranks(run: Run, token: int, position: int) -> Int[np.ndarray, " layer"]:
    """A token's rank after every layer at one position, which takes all logits there and no others."""
    here = slice(position, position + 1)
    ranks = runs.kept(run, ("ranks at", token, position), lambda: runs.followed_ranks(run, token, here).values)
    return ranks[:, 0].numpy()
