"""What a head's weights do with tokens: its strongest pairs, its singular directions, and which heads it reads."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import streamlit as st

from app import notices, selection, weights
from app.components import MapAxis, signed_map
from app.glossary import TERMS
from app.run import Run
from app.selection.chosen import CircuitKind, Head, Side
from app.shown import Shown
from app.views import lens, tables
from app.views.head_tables import name
from app.views.parts import heading
from app.views.sides import as_tables
from app.views.weight_tables import (
    COMPOSITION,
    LETTERS,
    SIDES,
    Weights,
    above_random,
    composition_table,
    directions_table,
    farthest,
    folded,
    pairs_table,
    partners_tables,
    spelled_composition,
    token_of,
    weights_of,
)
from model.analysis.circuits import Directions
from model.analysis.composition import Through
from model.errors import HeadlightError

CIRCUITS: dict[CircuitKind, str] = {"qk": "QK: where it looks", "ov": "OV: what it writes"}
MODELS: dict[Side, str] = {"a": "A's model", "b": "B's model"}
AT_ONCE = 30.0  # seconds at most by estimate; what may take longer waits for a click


def needs(shown: Shown) -> str:
    """A model from tokens to tokens."""
    return lens.needs(shown)


def render(shown: Shown) -> None:
    """The choices, the pairs of the circuit, one token's, the directions, and the composition with earlier heads."""
    now = selection.current()
    of = weights_of(shown, now)
    heading(f"Weights of {name(of.head)}", "weights", "head")
    _options(shown, of)
    st.caption(folded(of))
    with st.spinner("Taking the circuit apart…"):
        found = weights.directions(*of.key)
    if float(found.strengths.values[0]) == 0:
        st.info(f"This circuit of {name(of.head)} is zero: it does nothing with any token.")
    else:
        _pairs(of)
        _token(of)
        _directions(of, found)
    _composition(of)


def _options(shown: Shown, of: Weights) -> None:
    heads = [(layer, head) for layer in range(shown.n_layers) for head in range(shown.n_heads)]
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-options"):
        st.selectbox(
            "Head",
            heads,
            format_func=name,
            help=TERMS["head"],
            width=110,
            **selection.tie("weights_head", of.head, _choose_head),
        )
        st.segmented_control(
            "Circuit",
            list(CIRCUITS),
            format_func=CIRCUITS.__getitem__,
            required=True,
            help=TERMS["circuit"],
            **selection.bind("circuit"),
        )
        st.text_input(
            "Look up a token",
            placeholder="one token",
            help=TERMS["circuit_token"],
            width=170,
            **selection.bind("circuit_token"),
        )
        if shown.b is not None and shown.b.model is not shown.a.model:
            st.segmented_control(
                "Weights of",
                list(MODELS),
                format_func=MODELS.__getitem__,
                required=True,
                **selection.tie(
                    "weights_side", "b" if of.run is shown.b else "a", lambda side: selection.choose(side=side)
                ),
            )
        as_tables()


def _choose_head(head: Head) -> None:
    """The head in the first place of those chosen; the attention page keeps the others."""
    others = (selection.current().heads or ())[1:]
    selection.choose(heads=(head, *(other for other in others if other != head)))


def _pairs(of: Weights) -> None:
    """The outermost entries of all: found at once where that is quick, else when asked to."""
    heading("Of all pairs of tokens", "circuit_pairs")
    n_pairs, seconds = of.run.cfg.d_vocab**2, weights.searching_seconds(of.run.cfg)
    about = f"at most about {seconds:,.0f} s" if seconds >= 1 else "less than a second"
    if weights.known_pairs(*of.key) is None and seconds > AT_ONCE:
        asked = st.button(
            f"Search {n_pairs:,} pairs ({about})", type="primary", key=selection.widget_key("search_pairs")
        )
        if not asked:
            return
    with st.spinner(f"Searching {n_pairs:,} pairs ({about})…"):
        found = weights.pairs(*of.key)
    for column, title, each in zip(
        st.columns(2, gap="large"), ("Highest", "Lowest"), vars(found).values(), strict=True
    ):
        with column:
            st.caption(f"{title} of {n_pairs:,}")
            _table(pairs_table(of.run, each), f"{title} pairs of {name(of.head)}")


def _token(of: Weights) -> None:
    """What the circuit makes of one token, on either of its sides."""
    try:
        token = token_of(of.run, selection.current())
    except HeadlightError as error:
        notices.refused(str(error), "circuit_token")
        return
    if token is None:
        return
    heading(f"Of {of.run.tokenizer.labels([token])[0]} alone", "circuit")
    for column, (title, columns) in zip(st.columns(2, gap="large"), partners_tables(of, token).items(), strict=True):
        with column:
            st.caption(title)
            _table(columns, f"{title}, {name(of.head)}")


def _directions(of: Weights, found: Directions) -> None:
    heading("Singular directions", "directions")
    rows, columns = SIDES[of.kind]
    st.caption(
        f"{rows} and {columns.lower()} at the same end (+ with +, − with −) raise {_what(of)}; at opposite ends they "
        "lower it."
    )
    texts = {side: st.column_config.ListColumn(side, width="large") for side in SIDES[of.kind]}
    _table(directions_table(of, found), f"Singular directions of {name(of.head)}", texts, "content")


def _what(of: Weights) -> str:
    return "the score" if of.kind == "qk" else "the logit"


def _composition(of: Weights) -> None:
    heading("Which earlier heads it reads", "composition")
    layer = of.head[0]
    if layer == 0:
        st.info("A head of the first layer has no earlier heads. Choose a head of a later layer to see what it reads.")
        return
    with st.spinner("Multiplying circuits…"):
        found = weights.compositions(of.run.source.name, of.head)
    if selection.current().table:
        _table(composition_table(found), f"Composition of {name(of.head)} with earlier heads")
        return
    for column, through in zip(st.columns(3, gap="medium"), weights.THROUGH, strict=True):
        with column:
            draw_map(of.run, found, through, selection.widget_key(f"composition_{through}"))
            st.caption(spelled_composition(found, through))


def draw_map(run: Run, found: weights.Composed, through: Through, key: str) -> None:
    """How far each earlier head's composition is above that of random heads."""
    values = above_random(found, through)
    rows = MapAxis("layer", [f"L{layer}" for layer in range(len(values))])
    columns = MapAxis("head", [f"H{head}" for head in range(run.cfg.n_heads)])
    signed_map(values, rows, columns, title=f"{LETTERS[through]}-{COMPOSITION}", limit=farthest(found) or None, key=key)


def _table(
    columns: tables.Columns,
    alt: str,
    config: Mapping[str, Any] | None = None,
    height: Literal["auto", "content"] = "auto",
) -> None:
    """Tokens with their numbers; texts are drawn on a canvas, never as markup."""
    numbers = [each for each, values in columns.items() if _is_number(values)]
    st.dataframe(
        columns,
        height=height,
        column_config={each: st.column_config.NumberColumn(each, format="%.4g") for each in numbers}
        | dict(config or {}),
        hide_index=True,
        placeholder="–",
        alt=alt,
    )


def _is_number(values: Sequence[Any] | np.ndarray) -> bool:
    return bool(len(values)) and isinstance(values[0], float)
