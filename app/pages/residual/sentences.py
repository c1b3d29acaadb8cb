"""Cosine of the sentences A and B by a sentence encoder, with its contributions, as maps and as tables."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import CellAxis, CellMap, cell_map
from headlight.app.pages.residual.maps import GROUP, head_map, rest_map
from headlight.app.parts import tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.model.attention.sentence_cosine import (
    DENSE_BIASES,
    CosineParts,
    no_cosine,
    said_of_pooling,
    sentence_cosine,
)
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

TITLE = "part of the cosine"


def draw(comparison: Comparison) -> None:
    """Draw the cosine with the contributions of heads, tokens and other parts; nothing for models with a head."""
    if any(run.cfg.output != "none" for run in comparison.runs):
        return
    heading("Cosine of A and B", "sentence_cosine")
    if reason := no_cosine(comparison):
        st.caption(plain(reason))
        return
    of_sides = parts_of(comparison)
    a, b = (said_of_pooling(run) for run in comparison.runs)
    st.text(f"{float(of_sides['A'].cosine.values):.4f}   Pooling: {a if a == b else f'A {a}, B {b}'}")
    for side, parts in of_sides.items():
        if selection.current().table:
            _tables(comparison, side, parts)
        else:
            for drawn in maps(comparison, side, parts):
                cell_map(drawn, group=GROUP, key=selection.widget_key(f"sentence {drawn.columns.name} {side}"))


def parts_of(comparison: Comparison) -> Mapping[str, CosineParts]:
    """Contributions of A's and B's parts, computed once."""
    return comparison.keep("sentence cosine", lambda: sentence_cosine(comparison))


def maps(comparison: Comparison, side: str, parts: CosineParts) -> list[CellMap]:
    """Contributions of each head, of each token by its own last state, and of everything else."""
    run, tokens = comparison.sides[side], parts.tokens.values.numpy()[None]
    and_biases = f" with the {DENSE_BIASES}" if DENSE_BIASES in parts.rest_names else ""
    return [
        head_map(parts.heads.values.numpy(), side, TITLE),
        CellMap(
            tokens,
            CellAxis("sentence", [side]),
            CellAxis("token", run.labels, numbered=True),
            title=TITLE,
            caption=f"{side}: tokens by their last states, which sum to the cosine{and_biases}",
            scale="signed",
        ),
        rest_map(parts.rest_names, parts.rest.values.numpy(), side, TITLE),
    ]


def _tables(comparison: Comparison, side: str, parts: CosineParts) -> None:
    names = [head_name((layer, head)) for layer, head in np.ndindex(*parts.heads.values.shape)]
    values = np.concatenate([parts.heads.values.numpy().ravel(), parts.rest.values.numpy()])
    tables.draw({"Part": [*names, *parts.rest_names], TITLE: values}, f"What each part of {side} adds to the cosine")
    tokens: dict[str, Iterable[Any]] = {
        "Token": list(comparison.sides[side].labels),
        TITLE: parts.tokens.values.numpy(),
    }
    tables.draw(tokens, f"What each token of {side} adds to the cosine")
