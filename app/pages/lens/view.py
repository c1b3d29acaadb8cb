"""Predictions after each layer, at every position, by the chosen lens."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
from jaxtyping import Float, Int
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Choice, LensCells, LensColours, LensGrid, LensPin, Listed, Option, Text, lens_grid
from headlight.app.figures.colours import LEAST_KL
from headlight.app.frame import notices
from headlight.app.glossary import TERMS
from headlight.app.pages.lens import divergence, finding, lens_cell, reading, scope
from headlight.app.pages.lens.choices import Choices, ColourBy, cell_of, lens_by_side, measure_of, title_of
from headlight.app.parts import options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import title_row
from headlight.app.parts.sides import named, on_places, placed, say_what_is_common, with_difference
from headlight.app.runs import models
from headlight.app.server import boundary
from headlight.model.base.errors import HeadlightError
from headlight.model.lens import story
from headlight.model.lens.kinds import Kind, Lens
from headlight.model.lens.logit_lens import LogitLens
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks, logit_lens
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

MEASURES: dict[ColourBy, str] = {
    "top": "Top token",
    "final": "Final answer",
    "entropy": "Entropy",
    "kl": "KL to final",
    "target": "Tracked token",
    "rank": "Its rank",
}
LENSES: dict[Kind, str] = {"logit": "Logit", "tuned": "Tuned", "jacobian": "Jacobian"}
COLOURED: dict[ColourBy, tuple[str, str]] = {  # name, unit
    "top": ("probability of the top token", ""),
    "final": ("probability of the final answer", ""),
    "entropy": ("entropy", "nats"),
    "kl": ("KL(final ‖ layer)", "nats"),
    "target": ("probability of the tracked token", ""),
    "rank": ("rank of the tracked token", "log10"),
}

Cells = Mapping[str, Float[np.ndarray, "layer place"]]


@dataclass(frozen=True, eq=False)
class Lenses:
    """Lens readings of each run, the labels of all tokens that any cell lists, and each cell's indices into them.

    `by` are the lenses themselves. Where they are not `is_whole`, what is not read is -1 or not a number.
    """

    by: Mapping[str, Lens]
    readings: Mapping[str, LogitLens]
    vocabulary: list[str]
    top: Mapping[str, Int[np.ndarray, "layer pos k"]]
    is_whole: bool = True


def render(comparison: Comparison) -> None:
    """The lens as a table of layers and places, the pinned cell in detail, every lens by layer, and a patchscope."""
    above = st.container()
    token = _followed(comparison)
    say_what_is_common(comparison)
    by: dict[str, Lens] = {}
    with boundary.guard(lambda reason: notices.refused(reason, "lens")):
        by |= lens_by_side(comparison, selection.current())
    if by:
        _read(comparison, token, by, above)


def _read(comparison: Comparison, token: int, by: Mapping[str, Lens], above: DeltaGenerator) -> None:
    now, measure = selection.current(), measure_of(comparison, selection.current())
    with st.spinner("Computing the lens…"):
        ranked = token if measure == "rank" else None
        is_read = reading.read_first(comparison, by, cell_of(comparison, now)[1], ranked)
        lenses = lenses_of(comparison, by) if is_read else _so_far(comparison, by)
        values = coloured(comparison, measure, token, lenses)
    with above:
        finding.draw(comparison, by, measure)
    if now.table:
        _table(comparison, lenses, values, measure)
        pin = None if now.layer is None or now.position is None else LensPin(now.layer, now.position)
    else:
        pin = _grid(comparison, values, measure, lenses)
    pin = pin or LensPin(len(comparison.layer_labels) - 1, comparison.default_place)
    lens_cell.draw(comparison, pin, token, by)
    divergence.draw(comparison, by, is_read)
    scope.draw(comparison, pin)
    reading.go_on()


def _so_far(comparison: Comparison, by: Mapping[str, Lens]) -> Lenses:
    """Readings of the positions that are read."""
    read = {side: reading.lens_so_far(run, by[side]) for side, run in comparison.sides.items()}
    return _lenses(comparison, by, read, is_whole=False)


def _followed(comparison: Comparison) -> int:
    """The id of the token to follow: the one typed, or the model's own prediction."""
    run, own = comparison.a, selection.current().choices_of(Choices)
    predicted, explained = int(run.next_logits.argmax()), TERMS[f"lens_{measure_of(comparison, selection.current())}"]
    with title_row(f"{LENSES[own.lens]} lens", "lens" if own.lens == "logit" else f"lens_{own.lens}"):
        options.row(
            options.bind(Choice, "lens", "Lens", page=Choices, options=LENSES, help=TERMS["lens_kind"]),
            _lies_at(own.lens),
            options.bind(
                Listed,
                "measure",
                "Colour by",
                measure_of(comparison, selection.current()),
                page=Choices,
                options=MEASURES,
                help=explained,
                width=140,
            ),
            options.bind(
                Text,
                "target",
                "Track a token",
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
    """Field for the path of the lens; None for the logit lens, or where files may not be opened."""
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


def _measure(run: Run, side: str, lenses: Lenses, measure: ColourBy, token: int) -> Measure:
    """The values that colour a run's cells. A rank needs all logits again, so it is computed only on demand."""
    by, read = lenses.by[side], lenses.readings[side]
    match measure:
        case "top":
            top = read.top_probs
            return Measure(top.name, top.unit, ("layer", "pos"), top.values[..., 0])
        case "final":
            return read.final_probs
        case "entropy":
            return read.entropy
        case "kl":
            return read.kl_from_final
        case "target":
            return (followed_probabilities if lenses.is_whole else reading.probabilities_so_far)(run, token, by)
        case "rank":
            return (followed_ranks if lenses.is_whole else reading.ranks_so_far)(run, token, by)


def lenses_of(comparison: Comparison, by: Mapping[str, Lens]) -> Lenses:
    """Lens readings of all positions of each run."""

    def read() -> Lenses:
        return _lenses(comparison, by, {side: logit_lens(run, by[side]) for side, run in comparison.sides.items()})

    return comparison.keep(("lenses", *by.values()), read)


def _lenses(
    comparison: Comparison, by: Mapping[str, Lens], read: Mapping[str, LogitLens], is_whole: bool = True
) -> Lenses:
    top = {side: each.top_tokens.values.numpy() for side, each in read.items()}
    ids = np.unique(np.concatenate([tokens[tokens >= 0] for tokens in top.values()]))
    which = {side: np.where(tokens < 0, -1, np.searchsorted(ids, tokens)) for side, tokens in top.items()}
    return Lenses(by, read, comparison.a.tokenizer.labels(ids.tolist()), which, is_whole)


def coloured(comparison: Comparison, measure: ColourBy, token: int, lenses: Lenses) -> Cells:
    """The measure of each run on the page's places; ranks by their logarithm."""
    sides = {run.key: side for side, run in comparison.sides.items()}
    values = on_places(comparison, lambda run: _measure(run, sides[run.key], lenses, measure, token))
    if measure != "rank":
        return values
    return {side: np.log10(np.where(ranks > 0, ranks, np.nan)) for side, ranks in values.items()}


def _ends(measure: ColourBy, values: Cells) -> tuple[float, float]:
    """The ends of the colour bar that A and B share; the best rank is the strongest colour."""
    largest = float(max(map(np.nanmax, values.values())))
    match measure:
        case "top" | "final" | "target":
            return 0.0, 1.0
        case "rank":
            return max(largest, 1.0), 0.0
        case "entropy" | "kl":
            return 0.0, max(largest, LEAST_KL)


def _grid(comparison: Comparison, values: Cells, measure: ColourBy, lenses: Lenses) -> LensPin | None:
    now = selection.current()
    before = None if now.layer is None or now.position is None else LensPin(now.layer, now.position)
    drawn, key = described(comparison, values, measure, lenses), selection.widget_key("lens")
    pin = lens_grid(drawn, pinned=before, epoch=selection.epoch(), key=key)
    if pin != before:
        selection.update(layer=pin and pin.layer, position=pin and pin.position)
    return pin


def described(
    comparison: Comparison, values: Cells, measure: ColourBy, lenses: Lenses, place: int | None = None
) -> LensGrid:
    """The lens, coloured by these values of each run."""
    return LensGrid(
        *(_cells(comparison, side, lenses, values[side], measure == "final") for side in comparison.sides),
        labels=comparison.labels,
        vocabulary=lenses.vocabulary,
        colours=LensColours(*COLOURED[measure], _ends(measure, values), _called(lenses)),
        place=-1 if place is None else place,
        turns=comparison.turns,
    )


def _called(lenses: Lenses) -> str:
    (title,) = {lens.title for lens in lenses.by.values()}
    return title[0].upper() + title[1:]


def _cells(
    comparison: Comparison,
    side: str,
    lenses: Lenses,
    measure: Float[np.ndarray, "layer place"],
    as_story: bool,
) -> LensCells:
    run, best = comparison.sides[side], lenses.readings[side].top_tokens.values[..., 0]
    positions = comparison.positions(run)
    changes = placed(story.changed_guesses(best).numpy(), positions, False)
    settled = placed(story.settled_layers(best)[None].numpy(), positions, len(run.layer_labels))[0]
    return LensCells(
        layer_labels=run.layer_labels,
        top=placed(lenses.top[side], positions, -1),
        probabilities=placed(lenses.readings[side].top_probs.values.numpy(), positions, 0.0),
        measure=measure,
        changes=changes if as_story else None,
        settled=settled if as_story else None,
    )


def _table(comparison: Comparison, lenses: Lenses, values: Cells, measure: ColourBy) -> None:
    name, unit = COLOURED[measure]
    title = f"{name} ({unit})" if unit else name
    best = {
        f"Top token {side}".strip(): words
        for side, words in named(comparison, _best_words(comparison, lenses), "").items()
    }
    sides = best | named(comparison, with_difference(values), title)
    st.caption(plain(title))
    tables.draw(
        tables.of_cells(sides, comparison.layer_labels, comparison.labels),
        f"{title_of(comparison, selection.current())}: top token and {title}",
    )


def _best_words(comparison: Comparison, lenses: Lenses) -> dict[str, np.ndarray]:
    """The top token's label [layer, place] of each run; None where a run has no token."""
    words = np.array([*lenses.vocabulary, None], dtype=object)
    best = {side: each[..., 0] for side, each in lenses.top.items()}
    return {side: words[placed(best[side], comparison.positions(run), -1)] for side, run in comparison.sides.items()}
