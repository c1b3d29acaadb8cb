"""Trace a cell back to the earlier heads that contributed to it: a button each that explains that head."""

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from headlight.app import selection
from headlight.app.glossary import TERMS
from headlight.app.parts.labels import isolated
from headlight.app.parts.markdown import plain
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.parts import names_at
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

MAX_HEADS = 2  # heads of a side
LEAST = 0.04  # of the score's size: what a head must add to be worth going on with
LISTS_HEADS = "heads"

Half = Literal["query", "key"]


@dataclass(frozen=True)
class Source:
    """An earlier head, the position at which it wrote, and the sum of its parts in a cell's score."""

    head: Head
    side: Half
    position: int
    score: float


def sources(at: Explained) -> list[Source]:
    """The earlier heads that raise the score most, the key's before the query's."""
    matrix = at.why.parts.matrix.values
    least = LEAST * abs(float(at.why.parts.score.values))
    positions: dict[Half, int] = {"key": at.cell.key, "query": at.cell.query}
    links: list[Source] = []
    for others, (side, position) in enumerate(positions.items()):  # rows are the query's parts, columns the key's
        parts = names_at(at.run, position, at.cell.layer)
        heads = [
            Source((part.layer, part.head), side, position, score)
            for part, score in zip(parts, matrix.sum(others).tolist(), strict=False)  # biases follow the parts
            if part.layer is not None and part.head is not None and score > least
        ]
        links += sorted(heads, key=lambda source: -source.score)[:MAX_HEADS]
    return links


def _token(comparison: Comparison, at: Explained, source: Source) -> str:
    return isolated(comparison.token_at(at.run, source.position))


def draw(comparison: Comparison, at: Explained) -> None:
    """Draw a button for each of them, and one to the page about their roles on any text."""
    links = sources(at)
    if links:
        st.caption("Trace back to an earlier head that contributed to this score:", help=TERMS["why_follow"])
    places = {position: place for place, position in enumerate(comparison.positions(at.run)) if position is not None}
    with st.container(horizontal=True, key="headlight-follow"):
        for slot, source in enumerate(links):
            st.button(
                plain(f"{head_name(source.head)} at {_token(comparison, at, source)}: {source.score:+.2f}"),
                icon=":material/subdirectory_arrow_right:",
                key=selection.widget_key(f"follow_{slot}"),
                on_click=selection.choose,
                kwargs=_explaining((source.head, at.head), places[source.position]),
            )
        st.button(
            "Roles of these heads",
            icon=":material/travel_explore:",
            key=selection.widget_key("follow_finder"),
            on_click=lambda: selection.ask(selection.current(), LISTS_HEADS),
        )


def _explaining(heads: tuple[Head, Head], place: int) -> dict[str, tuple[Head, ...] | tuple[int, ...]]:
    """Choose the first head's strongest cell at a place; the heads on the way are chosen with it."""
    others = tuple(head for head in selection.current().heads or () if head not in heads)
    return {"heads": (*heads, *others), "queries": (place,), "keys": ()}
