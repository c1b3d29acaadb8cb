"""Circuits of a head's weights: the strongest token pairs, singular directions, and composition with other heads."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st
from jaxtyping import Float

from headlight.app import selection
from headlight.app.components import CellMap, Choice, Column, Number, Table, Text, cell_map, row_table
from headlight.app.figures import Plot, plots
from headlight.app.frame import notices, progress
from headlight.app.glossary import TERMS
from headlight.app.pages.weights import analysis
from headlight.app.pages.weights.choices import MAX_DISTANCE, Choices
from headlight.app.pages.weights.weight_tables import (
    AXES,
    COMPOSITION,
    LETTERS,
    VALUES,
    Weights,
    above_random,
    composition_table,
    compositions_of,
    directions_table,
    farthest,
    folded,
    pairs_table,
    partners_tables,
    spelled_composition,
    strengths_table,
    token_of,
    turns,
    unchanged,
    weights_of,
)
from headlight.app.parts import charts, needs, options, tables
from headlight.app.parts.grid import head_axes
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.runs import jobs
from headlight.app.runs.jobs import Jobs
from headlight.model.base.errors import HeadlightError
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.weights.composition import Through
from headlight.model.weights.head_circuit import THROUGH, CircuitKind
from headlight.model.weights.pair_search import Ends
from headlight.model.weights.qk_ov_circuits import Directions, Pairs

CIRCUITS: dict[CircuitKind, str] = {"qk": "QK: attention", "ov": "OV: output"}
AT_ONCE = 30.0  # seconds at most by estimate; what may take longer waits for a click
DIRECTIONS = "directions"
FARTHEST = 64  # tokens apart, in the plot of scores by distance
MAX_PAIRS = 5  # that have a line of their own in it
NOTHING = 1e-9  # of a circuit's strength; what is below is rounding


def is_complete(comparison: Comparison) -> bool:
    """Whether all that the page shows is there to be taken along."""
    weights = weights_of(comparison, selection.current())
    if weights.kind == "ov" and needs.ov_circuit(comparison):
        return False
    if analysis.known_pairs(weights.key) is not None:
        return True
    return not progress.is_stopped(DIRECTIONS, weights.key) and is_nothing(
        weights, analysis.directions_of(weights.circuits)
    )


def render(comparison: Comparison) -> None:
    """The choices, the pairs of the circuit, one token's, the directions, and the composition with earlier heads."""
    weights, work = weights_of(comparison, selection.current()), jobs.get_jobs("weights")
    with title_row(f"Weights of {head_name(weights.head)}", "weights", "head", how=folded(weights), level=1, key="of"):
        _options(comparison, weights)
    if said := unchanged(comparison):
        st.info(plain(said))
    if weights.kind == "ov" and (reason := needs.ov_circuit(comparison)):
        st.info(plain(f"{reason} So no head has an OV circuit from tokens to tokens."))
        _composition(weights)
        return
    said, done = "decomposing the circuit", "circuits decomposed"
    directions = progress.watched(said, done, DIRECTIONS, weights.key, lambda: analysis.directions_of(weights.circuits))
    if directions is not None:
        _circuit(weights, directions, work)
    _composition(weights)
    progress.go_on(work, analysis.look)


def _circuit(weights: Weights, directions: Mapping[str, Directions], work: Jobs) -> None:
    _strengths(weights)
    if is_nothing(weights, directions):
        st.info(plain(_says_nothing(weights)))
        return
    _pairs(weights, work)
    _token(weights)
    _directions(weights, directions[weights.listed])


def is_nothing(weights: Weights, directions: Mapping[str, Directions]) -> bool:
    """Whether the circuit that is listed is zero, but for rounding."""
    strengths = {side: float(each.strengths.values[0]) for side, each in directions.items()}
    return strengths[weights.listed] <= NOTHING * max(strengths.values())


def _says_nothing(weights: Weights) -> str:
    if weights.listed == DIFFERENCE:
        return f"This circuit of {head_name(weights.head)} is the same in A and B."
    where = f" in {weights.listed}" if weights.compares else ""
    return f"This circuit of {head_name(weights.head)} is zero{where}: it has no effect on any token."


def _options(comparison: Comparison, weights: Weights) -> None:
    options.row(
        options.first_head("weights_head", comparison, weights.head),
        options.bind(Choice, "circuit", "Circuit", page=Choices, options=CIRCUITS),
        _distance(weights),
        options.bind(Text, "circuit_token", "Look up a token", page=Choices, placeholder="one token"),
        options.side(weights.compares, "Strongest in", "difference", help=TERMS["circuit_side"]),
        replace(options.as_tables(), folded=weights.compares),
    )


def _distance(weights: Weights) -> Number | None:
    """Number of tokens from key to query, where the scores depend on it."""
    if not _depends_on_distance(weights):
        return None
    return options.bind(
        Number, "distance", "Key before query", page=Choices, least=0, most=MAX_DISTANCE, help=TERMS["distance"]
    )


def _over_distances(weights: Weights, pairs: Ends) -> None:
    """Scores of the strongest pairs by the distance of their tokens."""
    if _depends_on_distance(weights):
        heading("Score by distance", "distance")
        charts.draw([[_scores_by_distance(weights, pairs.highest)]], "The scores of the strongest pairs by distance")


def _strengths(weights: Weights) -> None:
    """The singular values side by side, where there are two models."""
    if weights.compares:
        heading("Singular values", "directions")
        title = f"Singular values of {head_name(weights.head)} ({VALUES[weights.kind].lower()})"
        _table(strengths_table(weights), title, "singular_values")


def _pairs(weights: Weights, work: Jobs) -> None:
    """The outermost entries of all, once every block was searched."""
    heading("Strongest token pairs", "circuit_pairs")
    n_pairs = weights.run.cfg.d_vocab**2
    _working(weights, work, n_pairs)
    if (pairs := analysis.known_pairs(weights.key)) is not None:
        draw_pairs(weights, pairs, n_pairs)
        _over_distances(weights, pairs)


def _working(weights: Weights, work: Jobs, n_pairs: int) -> None:
    """Search the remaining pieces: at once where that is quick, else on a click, with progress and a stop button.

    Partial results stay hidden, since a higher pair may follow.
    """
    pieces = analysis.pieces_of(weights.key)
    work.keep_to(pieces)
    if analysis.known_pairs(weights.key) is not None:
        return
    missing = [piece for piece in pieces if not analysis.is_done(piece)]
    label, seconds = f"Search {n_pairs:,} pairs", analysis.seconds(missing)
    if progress.offer(work, missing, label, "pairs", seconds, AT_ONCE, "at most about"):
        with st.spinner("Searching all pairs…"):
            work.step(analysis.look)  # before anything is drawn of it: a small vocabulary needs no more
        if work.halted:
            st.rerun()
    for reason in {work.refused[piece] for piece in missing if piece in work.refused}:
        notices.refused(reason, "refused_pairs")
    progress.bar(work, f"parts of {n_pairs:,} pairs searched", "pairs")


def draw_pairs(weights: Weights, pairs: Ends, n_pairs: int) -> None:
    """Both ends, side by side."""
    where = f" in {weights.listed}" if weights.compares else ""
    for column, title, each in zip(
        st.columns(2, gap="large"), ("Highest", "Lowest"), (pairs.highest, pairs.lowest), strict=True
    ):
        with column:
            unit = f" ({VALUES[weights.kind].lower()})" if weights.compares else ""
            said = f"{title}{where} of {n_pairs:,}{unit}"
            _table(pairs_table(weights, each), f"{title} pairs of {head_name(weights.head)}", f"pairs_{title}", said)


def _token(weights: Weights) -> None:
    """Strongest partners of one token in the circuit, on either side."""
    try:
        token = token_of(weights.run, selection.current())
    except HeadlightError as error:
        notices.refused(str(error), "circuit_token")
        return
    if token is None:
        return
    heading(f"Of {weights.run.tokenizer.labels([token])[0]} alone", "circuit", key="alone")
    both = partners_tables(weights, token).items()
    for place, (column, (title, columns)) in enumerate(zip(st.columns(2, gap="large"), both, strict=True)):
        with column:
            _table(columns, f"{title}, {head_name(weights.head)}", f"partners_{place}", title)


def _directions(weights: Weights, directions: Directions) -> None:
    rows, columns = AXES[weights.kind]
    heading(
        f"Singular directions{f' of {weights.listed}' if weights.compares else ''}",
        "directions",
        caption=f"{rows} and {columns.lower()} at the same end (+ with +, − with −) raise {_what(weights)}; at "
        "opposite ends they lower it.",
    )
    _table(
        directions_table(weights, directions),
        f"Singular directions of {head_name(weights.head)}",
        "directions",
        whole=True,
    )


def _what(weights: Weights) -> str:
    return "the score" if weights.kind == "qk" else "the logit"


def _composition(weights: Weights) -> None:
    heading("Composition with earlier heads", "composition")
    layer = weights.head[0]
    if layer == 0:
        st.info("A head of the first layer has no earlier heads. Choose a head of a later layer to see what it reads.")
        return
    said, done = "multiplying circuits", "layers compared"
    subject = weights.head, tuple(run.source.name for run in weights.models.values())
    compositions = progress.watched(said, done, "compositions", subject, lambda: compositions_of(weights))
    if compositions is None:
        return
    if selection.current().table:
        title = f"Composition of {head_name(weights.head)} with earlier heads"
        _table(composition_table(compositions), title, "composition_table")
        return
    above = above_random(compositions)
    for side, maps in above.items():
        if weights.compares:
            st.caption(f"**{plain(side)}**")
        for column, through in zip(st.columns(3, gap="medium"), THROUGH, strict=True):
            with column:
                key = selection.widget_key(f"composition_{through}_{side}")
                said = spelled_composition(compositions[side], through) if side in compositions else ""
                cell_map(composition_map(maps[through], called(through, side, weights), farthest(above), said), key=key)


def called(through: Through, side: str, weights: Weights) -> str:
    """A map's title."""
    return f"{LETTERS[through]}-{COMPOSITION}{f', {side}' if weights.compares else ''}"


def composition_map(values: Float[np.ndarray, "layer head"], title: str, limit: float, caption: str = "") -> CellMap:
    """Composition with each earlier head above that of random heads, in one model or in B minus A."""
    axes = head_axes(values.shape)
    return CellMap(values, *axes, title=title, caption=caption, scale="signed", ends=(0, limit))


def _table(columns: tables.Columns, title: str, key: str, caption: str = "", whole: bool = False) -> None:
    """Tokens with their numbers, to four digits."""
    drawn = [Column(each, list(cells)) for each, cells in columns.items()]
    row_table(Table(drawn, title=title, caption=caption), key=selection.widget_key(key), choosable=False, whole=whole)


def _depends_on_distance(weights: Weights) -> bool:
    """Whether the chosen circuit depends on the distance."""
    return weights.kind == "qk" and any(turns(run, weights.head) for run in weights.models.values())


def _scores_by_distance(weights: Weights, strongest: Pairs) -> Plot:
    """The strongest pairs' scores in the model that is listed, from next to each other to far apart."""
    scores = analysis.circuit_of(weights.key).over_distances(strongest, FARTHEST).values.numpy()[:MAX_PAIRS]
    names = weights.run.tokenizer.labels
    pairs = zip(names(strongest.rows.values.tolist()), names(strongest.columns.values.tolist()), strict=True)
    series = {f"{query} → {key}": line for (query, key), line in zip(pairs, scores, strict=False)}
    return plots.lines(
        {"": scores.mean(0)},
        [str(distance) for distance in range(FARTHEST)],
        title=f"Scores of the {len(series)} highest pairs",
        unit="score",
        along="distance",
        alone="their mean",
        faint=np.stack(list(series.values())),
        faint_name="each pair",
    )
