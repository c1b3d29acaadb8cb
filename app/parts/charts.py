"""A page's figure: Plotly's, one a page, drawn after the pictures above it."""

from collections.abc import Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.figures import CONFIG, Plot, figure

Rows = Sequence[Sequence[Plot]]


def draw(rows: Rows, alt: str) -> None:
    """The plots in the page's theme; `alt` says to a screen reader what they show.

    On a phone a figure with plots side by side is wider than the page, and is moved sideways.
    """
    dark = st.context.theme.type == "dark"
    several = any(len(row) > 1 for row in rows)
    with st.container(key="headlight-figure-wide" if several else "headlight-figure"):
        key = selection.widget_key("figure")
        st.plotly_chart(figure(rows, dark), theme=None, config=dict(CONFIG), key=key, alt=alt)
