"""What the model would predict after each layer, at every position."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from headlight.app import selection
from headlight.app.components import Choice, LensCells, LensColours, LensPin, Text, lens_grid
from headlight.app.frame import notices
from headlight.app.glossary import TERMS
from headlight.app.pages.lens import lens_cell, reading
from headlight.app.pages.lens.choices import Choices, ColourBy
from headlight.app.parts import options, tables
from headlight.app.parts.parts import title_row
from headlight.app.parts.sides import named, on_places, placed, say_what_is_common, with_difference
from headlight.model.analysis import Measure
from headlight.model.analysis.lens import LogitLens
from headlight.model.comparison import Comparison
from headlight.model.errors import HeadlightError
from headlight.model.explain.lens import followed_probabilities, followed_ranks, logit_lens
from headlight.model.run import Run

MEASURES: dict[ColourBy, str] = {
    "top": "Top token",
    "entropy": "Entropy",
    "kl": "KL to final",
    "target": "Followed token",
    "rank": "Its rank",
}
COLOURED: dict[ColourBy, tuple[str, str]] = {  # name, unit
    "top": ("probability of the top token", ""),
    "entropy": ("entropy", "nats"),
    "kl": ("KL(final ‖ layer)", "nats"),
    "target": ("probability of the followed token", ""),
    "rank": ("rank of the followed token", "log10"),
}

Cells = Mapping[str, Float[np.ndarray, "layer place"]]
NOBODY = -1  # no token is followed


@dataclass(frozen=True, eq=False)
class Lenses:
    """The lens of each run, the labels of all tokens that any cell lists, and of each run's cells which of them."""

    of: Mapping[str, LogitLens]
    vocabulary: list[str]
    top: Mapping[str, Int[np.ndarray, "layer pos k"]]


def render(shown: Comparison) -> None:
    """The lens as a table of layers and places, the pinned cell's ten best tokens and the followed token's way."""
    token = _followed(shown.a)
    say_what_is_common(shown)
    measure = selection.current().of(Choices).measure
    if not reading.is_read(shown):
        _so_far(shown, measure)
        reading.go_on()
        return
    with st.spinner("Reading every layer…"):
        lenses = lenses_of(shown)
        values = coloured(shown, measure, token, lenses)
    if selection.current().table:
        _table(shown, values, measure)
        now = selection.current()
        pin = None if now.layer is None or now.position is None else LensPin(now.layer, now.position)
    else:
        pin = _grid(shown, values, measure, lenses)
    lens_cell.draw(shown, pin or LensPin(len(shown.layer_labels) - 1, shown.default_place), token)


def _so_far(shown: Comparison, measure: ColourBy) -> None:
    """The table of the positions that are read; a followed token's numbers wait for all of them."""
    if (read := reading.so_far(shown)) is not None:
        lenses, measure = _lenses(shown, read), measure if measure in ("top", "entropy", "kl") else "top"
        _grid(shown, coloured(shown, measure, NOBODY, lenses), measure, lenses)


def _followed(run: Run) -> int:
    """The id of the token to follow: the one typed, or the model's own prediction."""
    predicted = int(run.next_logits.argmax())
    explained = TERMS[f"lens_{selection.current().of(Choices).measure}"]
    with title_row("Logit lens", "lens"):
        options.row(
            options.bind(Choice, "measure", "Colour by", page=Choices, options=MEASURES, help=explained),
            options.bind(
                Text,
                "target",
                "Follow a token",
                placeholder=f"the prediction, “{run.tokenizer.labels([predicted])[0]}”",
                help="Type one token. Inside a sentence most begin with a space: type the space too.",
                width=220,
            ),
            options.as_tables(),
        )
    try:
        typed = selection.current().target
        return run.tokenizer.to_single_token(typed) if typed else predicted
    except HeadlightError as error:
        notices.refused(str(error), "target")
        return predicted


def _measure(run: Run, read: LogitLens, measure: ColourBy, token: int) -> Measure:
    """What colours the cells of a run; a rank takes all logits anew, so it is computed only where it is shown."""
    match measure:
        case "top":
            top = read.top_probs
            return Measure(top.name, top.unit, ("layer", "pos"), top.values[..., 0])
        case "entropy":
            return read.entropy
        case "kl":
            return read.kl_from_final
        case "target":
            return followed_probabilities(run, token)
        case "rank":
            return followed_ranks(run, token)


def lenses_of(shown: Comparison) -> Lenses:
    """The lens of all positions of each run."""
    return shown.keep("lenses", lambda: _lenses(shown, {side: logit_lens(run) for side, run in shown.sides.items()}))


def _lenses(shown: Comparison, read: Mapping[str, LogitLens]) -> Lenses:
    top = {side: each.top_tokens.values.numpy() for side, each in read.items()}
    ids = np.unique(np.concatenate([tokens[tokens >= 0] for tokens in top.values()]))
    which = {side: np.where(tokens < 0, -1, np.searchsorted(ids, tokens)) for side, tokens in top.items()}
    return Lenses(read, shown.a.tokenizer.labels(ids.tolist()), which)


def coloured(shown: Comparison, measure: ColourBy, token: int, lenses: Lenses) -> Cells:
    """The measure of each run on the page's places; ranks by their logarithm."""
    read = {run.key: lenses.of[side] for side, run in shown.sides.items()}
    values = on_places(shown, lambda run: _measure(run, read[run.key], measure, token))
    return {side: np.log10(ranks) for side, ranks in values.items()} if measure == "rank" else values


def _ends(measure: ColourBy, values: Cells) -> tuple[float, float]:
    """The ends of the colour bar that A and B share; the best rank is the strongest colour."""
    largest = float(max(map(np.nanmax, values.values())))
    match measure:
        case "top" | "target":
            return 0.0, 1.0
        case "rank":
            return max(largest, 1.0), 0.0
        case "entropy" | "kl":
            return 0.0, max(largest, 1e-3)


def _grid(shown: Comparison, values: Cells, measure: ColourBy, lenses: Lenses) -> LensPin | None:
    now = selection.current()
    before = None if now.layer is None or now.position is None else LensPin(now.layer, now.position)
    pin = grid(shown, values, measure, lenses, before, selection.epoch(), selection.widget_key("lens"))
    if pin != before:
        selection.update(layer=pin and pin.layer, position=pin and pin.position)
    return pin


def grid(
    shown: Comparison,
    values: Cells,
    measure: ColourBy,
    lenses: Lenses,
    pinned: LensPin | None,
    epoch: int,
    key: str,
) -> LensPin | None:
    """The lens as a component, coloured by these values of each run."""
    return lens_grid(
        *(_cells(shown, side, lenses, values[side]) for side in shown.sides),
        labels=shown.labels,
        vocabulary=lenses.vocabulary,
        colours=LensColours(*COLOURED[measure], _ends(measure, values)),
        pinned=pinned,
        epoch=epoch,
        key=key,
    )


def _cells(shown: Comparison, side: str, lenses: Lenses, measure: Float[np.ndarray, "layer place"]) -> LensCells:
    run = shown.sides[side]
    positions = shown.positions(run)
    return LensCells(
        layer_labels=run.layer_labels,
        top=placed(lenses.top[side], positions, -1),
        probabilities=placed(lenses.of[side].top_probs.values.numpy(), positions, 0.0),
        measure=measure,
    )


def _table(shown: Comparison, values: Cells, measure: ColourBy) -> None:
    name, unit = COLOURED[measure]
    title = f"{name} ({unit})" if unit else name
    best = {f"Top token {side}".strip(): words for side, words in named(shown, _best_words(shown), "").items()}
    sides = best | named(shown, with_difference(values), title)
    st.caption(title)
    tables.draw(tables.of_cells(sides, shown.layer_labels, shown.labels), f"Logit lens: top token and {title}")


def _best_words(shown: Comparison) -> dict[str, np.ndarray]:
    """The top token's label [layer, place] of each run; None where a run has no token."""
    lenses = lenses_of(shown)
    words = np.array([*lenses.vocabulary, None], dtype=object)
    best = {side: each[..., 0] for side, each in lenses.top.items()}
    return {side: words[placed(best[side], shown.positions(run), -1)] for side, run in shown.sides.items()}
