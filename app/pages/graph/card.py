"""The card of a chosen node: its name, which opens a head's menu, its pages, and its strongest neighbours.

It stands in sight as long as the picture does, however tall that is.
"""

from collections.abc import Sequence

import streamlit as st

from headlight.app.components import Link, Option
from headlight.app.parts import options
from headlight.app.parts.parts import title_row

MAX_NEIGHBOURS = 3


def draw(name: str, term: str, actions: Sequence[Option], said: str, title: str, neighbours: Sequence[Link]) -> None:
    """Draw the card.

    Args:
        name: the node.
        term: the glossary's entry behind its question mark.
        actions: links to its pages and buttons, in the name's line.
        said: what is measured of it.
        title: what the neighbours are.
        neighbours: links that choose them, the strongest first; the first few are shown.
    """
    with st.container(key="headlight-graph-card"):
        with title_row(name, term, key="graph_node"):
            if actions:
                options.row(*actions, name="graph_node", whole=True)
        with st.container(horizontal=True, vertical_alignment="center", key="headlight-graph-neighbours"):
            st.text(said)
            if neighbours:
                st.text(title)
                options.row(*neighbours[:MAX_NEIGHBOURS], name="graph_neighbours", whole=True)
