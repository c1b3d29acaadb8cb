"""What the model would predict after each layer, at every position, read by the lens that is chosen."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from headlight.app import selection
from headlight.app.components import Choice, LensCells, LensColours, LensPin, Listed, Option, Text, lens_grid
from headlight.app.frame import notices
from headlight.app.glossary import TERMS
from headlight.app.pages.lens import divergence, lens_cell, reading, scope
from headlight.app.pages.lens.choices import Choices, ColourBy
from headlight.app.pages.lens.chosen import lens_by_side, title_of
from headlight.app.parts import options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import title_row
from headlight.app.parts.sides import named, on_places, placed, say_what_is_common, with_difference
from headlight.app.runs import models
from headlight.app.server import boundary
from headlight.model.base.errors import HeadlightError
from headlight.model.lens.kinds import Kind, Lens
from headlight.model.lens.logit_lens import LogitLens
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks, logit_lens
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

MEASURES: dict[ColourBy, str] = {
    "top": "Top token",
    "entropy": "Entropy",
    "kl": "KL to final",
    "target": "Followed token",
    "rank": "Its rank",
}
LENSES: dict[Kind, str] = {"logit": "Logit", "tuned": "Tuned", "jacobian": "Jacobian"}
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
    """What each run's lens reads, the labels of all tokens that any cell lists, and of each run's cells which of them.

    `by` are the lenses themselves.
    """

    by: Mapping[str, Lens]
    of: Mapping[str, LogitLens]
    vocabulary: list[str]
    top: Mapping[str, Int[np.ndarray, "layer pos k"]]


def render(shown: Comparison) -> None:
    """The lens as a table of layers and places, the pinned cell in detail, every lens by layer, and a patchscope."""
    token = _followed(shown)
    say_what_is_common(shown)
    by: dict[str, Lens] = {}
    with boundary.guard(lambda reason: notices.refused(reason, "lens")):
        by |= lens_by_side(shown, selection.current())
    if by:
        _read(shown, token, by)


def _read(shown: Comparison, token: int, by: Mapping[str, Lens]) -> None:
    measure = selection.current().of(Choices).measure
    if not reading.is_read(shown, by):
        _so_far(shown, measure, by)
        reading.go_on()
        return
    with st.spinner("Reading every layer…"):
        lenses = lenses_of(shown, by)
        values = coloured(shown, measure, token, lenses)
    if selection.current().table:
        _table(shown, lenses, values, measure)
        now = selection.current()
        pin = None if now.layer is None or now.position is None else LensPin(now.layer, now.position)
    else:
        pin = _grid(shown, values, measure, lenses)
    pin = pin or LensPin(len(shown.layer_labels) - 1, shown.default_place)
    lens_cell.draw(shown, pin, token, by)
    divergence.draw(shown, by)
    scope.draw(shown, pin)


def _so_far(shown: Comparison, measure: ColourBy, by: Mapping[str, Lens]) -> None:
    """The table of the positions that are read; a followed token's numbers wait for all of them."""
    if (read := reading.so_far(shown, by)) is not None:
        lenses, measure = _lenses(shown, by, read), measure if measure in ("top", "entropy", "kl") else "top"
        _grid(shown, coloured(shown, measure, NOBODY, lenses), measure, lenses)


def _followed(shown: Comparison) -> int:
    """The id of the token to follow: the one typed, or the model's own prediction."""
    run, own = shown.a, selection.current().of(Choices)
    predicted, explained = int(run.next_logits.argmax()), TERMS[f"lens_{own.measure}"]
    with title_row(f"{LENSES[own.lens]} lens", "lens" if own.lens == "logit" else f"lens_{own.lens}"):
        options.row(
            options.bind(Choice, "lens", "Lens", page=Choices, options=LENSES, help=TERMS["lens_kind"]),
            _lies_at(own.lens),
            options.bind(Listed, "measure", "Colour by", page=Choices, options=MEASURES, help=explained, width=140),
            options.bind(
                Text,
                "target",
                "Follow a token",
                placeholder=f"the prediction, “{run.tokenizer.labels([predicted])[0]}”",
                help="Type one token. Inside a sentence most begin with a space: type the space too.",
                width=190,
            ),
            options.as_tables(),
        )
    try:
        typed = selection.current().target
        return run.tokenizer.to_single_token(typed) if typed else predicted
    except HeadlightError as error:
        notices.refused(str(error), "target")
        return predicted


def _lies_at(kind: Kind) -> Option | None:
    """Where the lens lies, if it may be anywhere; the logit lens is no file."""
    if kind == "logit" or not models.any_model_allowed():
        return None
    return options.bind(
        Text,
        "lens_from",
        "From",
        page=Choices,
        placeholder="beside the model",
        help=TERMS["lens_from"],
        width=190,
        folded=True,
    )


def _measure(run: Run, by: Lens, read: LogitLens, measure: ColourBy, token: int) -> Measure:
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
            return followed_probabilities(run, token, by)
        case "rank":
            return followed_ranks(run, token, by=by)


def lenses_of(shown: Comparison, by: Mapping[str, Lens]) -> Lenses:
    """What the lenses read of all positions of each run."""

    def read() -> Lenses:
        return _lenses(shown, by, {side: logit_lens(run, by[side]) for side, run in shown.sides.items()})

    return shown.keep(("lenses", *by.values()), read)


def _lenses(shown: Comparison, by: Mapping[str, Lens], read: Mapping[str, LogitLens]) -> Lenses:
    top = {side: each.top_tokens.values.numpy() for side, each in read.items()}
    ids = np.unique(np.concatenate([tokens[tokens >= 0] for tokens in top.values()]))
    which = {side: np.where(tokens < 0, -1, np.searchsorted(ids, tokens)) for side, tokens in top.items()}
    return Lenses(by, read, shown.a.tokenizer.labels(ids.tolist()), which)


def coloured(shown: Comparison, measure: ColourBy, token: int, lenses: Lenses) -> Cells:
    """The measure of each run on the page's places; ranks by their logarithm."""
    read = {run.key: (lenses.by[side], lenses.of[side]) for side, run in shown.sides.items()}
    values = on_places(shown, lambda run: _measure(run, *read[run.key], measure, token))
    if measure != "rank":
        return values
    return {side: np.log10(np.where(ranks > 0, ranks, np.nan)) for side, ranks in values.items()}


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
        colours=LensColours(*COLOURED[measure], _ends(measure, values), _called(lenses)),
        pinned=pinned,
        epoch=epoch,
        key=key,
    )


def _called(lenses: Lenses) -> str:
    (title,) = {lens.title for lens in lenses.by.values()}
    return title[0].upper() + title[1:]


def _cells(shown: Comparison, side: str, lenses: Lenses, measure: Float[np.ndarray, "layer place"]) -> LensCells:
    run = shown.sides[side]
    positions = shown.positions(run)
    return LensCells(
        layer_labels=run.layer_labels,
        top=placed(lenses.top[side], positions, -1),
        probabilities=placed(lenses.of[side].top_probs.values.numpy(), positions, 0.0),
        measure=measure,
    )


def _table(shown: Comparison, lenses: Lenses, values: Cells, measure: ColourBy) -> None:
    name, unit = COLOURED[measure]
    title = f"{name} ({unit})" if unit else name
    best = {f"Top token {side}".strip(): words for side, words in named(shown, _best_words(shown, lenses), "").items()}
    sides = best | named(shown, with_difference(values), title)
    st.caption(plain(title))
    tables.draw(
        tables.of_cells(sides, shown.layer_labels, shown.labels),
        f"{title_of(shown, selection.current())}: top token and {title}",
    )


def _best_words(shown: Comparison, lenses: Lenses) -> dict[str, np.ndarray]:
    """The top token's label [layer, place] of each run; None where a run has no token."""
    words = np.array([*lenses.vocabulary, None], dtype=object)
    best = {side: each[..., 0] for side, each in lenses.top.items()}
    return {side: words[placed(best[side], shown.positions(run), -1)] for side, run in shown.sides.items()}
