"""One place of the lens: the ten best tokens of a cell, and a followed token's way through the layers.

`by` is the lens that reads each run.
"""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from headlight.app import selection
from headlight.app.components import LensPin
from headlight.app.figures import Plot, likeliest, plots
from headlight.app.parts import charts, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import named, positions_at, say_what_is_missing, with_difference
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks, logit_lens_at, part_with
from headlight.model.runs.comparison import Comparison

By = Mapping[str, Lens]


def draw(comparison: Comparison, pin: LensPin, token: int, by: By) -> None:
    """The ten best tokens of the pinned cell in each run, and the followed token at its place."""
    say_what_is_missing(comparison, pin.position)
    here = f"Position {pin.position}: {comparison.labels[pin.position]}"
    heading(here, "lens_top", "lens_target", "lens_rank", key="cell")
    for side in positions_at(comparison, pin.position):
        layers = comparison.sides[side].layer_labels
        if pin.layer >= len(layers):
            st.caption(plain(f"{side} has no {comparison.layer_labels[pin.layer]}. Its last layer is {layers[-1]}."))
        elif pin.layer not in by[side].reads(len(layers) - 1):
            state = f"the state after {layers[pin.layer]}" if pin.layer else "the embedding"
            st.caption(plain(f"The {by[side].title} has no map for {state}."))
    if selection.current().table:
        _tables(comparison, pin, token, by)
    else:
        charts.draw(
            rows(comparison, pin, token, by),
            "The most likely tokens, and the tracked token's probability by layer",
        )


def rows(comparison: Comparison, pin: LensPin, token: int, by: By) -> charts.Rows:
    """The ten best tokens of each run, on one scale, and the followed token's way beside or under them."""
    at, best = f"after {comparison.layer_labels[pin.layer]}, position {pin.position}", _best(comparison, pin, by)
    reach = max((float(probs.max()) for _, probs in best.values()), default=0.0)
    lists = [
        likeliest(labels, probs, f"Top tokens {at}{side and f' in {side}'}{_by(by)}", reach)
        for side, (labels, probs) in named(comparison, best, "").items()
    ]
    way = _way(comparison, pin.position, token, by)
    return [lists, [way]] if comparison.b is not None else [[*lists, way]]


def _by(by: By) -> str:
    """Name of the lens, where it is not the logit lens."""
    (title,) = {lens.title for lens in by.values()}
    return "" if LOGIT in by.values() else f", {title}"


def _best(comparison: Comparison, pin: LensPin, by: By) -> dict[str, tuple[list[str], Float[np.ndarray, " k"]]]:
    """The labels and probabilities of the pinned cell's best tokens, of the runs that have it."""
    cells = {side: (pin.layer, position) for side, position in positions_at(comparison, pin.position).items()}
    best: dict[str, tuple[list[str], Float[np.ndarray, " k"]]] = {}
    for side, run in comparison.sides.items():
        if side in cells and pin.layer in by[side].reads(run.cfg.n_layers):
            layer, position = cells[side]
            read = logit_lens_at(run, position, by[side])
            labels = run.tokenizer.labels(read.top_tokens.values[layer, 0])
            best[side] = labels, read.top_probs.values[layer, 0].numpy()
    return best


def _way(comparison: Comparison, place: int, token: int, by: By) -> Plot:
    """The followed token's probability after every layer, and its rank where it is pointed at."""
    probabilities, ranks = _followed_at(comparison, place, token, by)
    (label,) = comparison.a.tokenizer.labels([token])
    layers = comparison.layer_labels
    sides = named(comparison, with_difference(probabilities), "")
    return plots.lines(
        {side: tables.filled(values, len(layers)) for side, values in sides.items()},
        layers,
        title=f"Tracked token {label} at position {place}{_by(by)}",
        unit="probability",
        alone=label,
        words={side: [f"rank {rank:,}" for rank in of_run] for side, of_run in named(comparison, ranks, "").items()},
    )


def _followed_at(
    comparison: Comparison, place: int, token: int, by: By
) -> tuple[dict[str, Float[np.ndarray, " layer"]], dict[str, Int[np.ndarray, " layer"]]]:
    """The probability and the rank of the tracked token after every layer, of the runs that have the place."""
    probabilities, ranks = {}, {}
    for side, position in positions_at(comparison, place).items():
        run, part = comparison.sides[side], part_with(comparison.sides[side], position)
        followed = followed_probabilities(run, token, by[side], part).values
        probabilities[side] = followed[:, position - part.start].numpy()
        ranks[side] = followed_ranks(run, token, by[side], range(position, position + 1)).values[:, 0].numpy()
    return probabilities, ranks


def _tables(comparison: Comparison, pin: LensPin, token: int, by: By) -> None:
    for side, (labels, probs) in named(comparison, _best(comparison, pin, by), "").items():
        where = f" in {side}" if side else ""
        tables.draw({"Token": labels, "Probability": probs}, f"Top tokens of the pinned cell{where}{_by(by)}")
    probabilities, ranks = _followed_at(comparison, pin.position, token, by)
    both = named(comparison, with_difference(probabilities), "")
    columns = {f"Probability {side}".strip(): values for side, values in both.items()}
    columns |= {
        f"Rank {side}".strip(): np.where(values > 0, values, np.nan)
        for side, values in named(comparison, ranks, "").items()
    }
    layers = comparison.layer_labels
    tables.draw(tables.of_rows("After layer", layers, columns), f"Probability and rank of the tracked token{_by(by)}")
