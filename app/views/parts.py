"""What several pages have in common."""

from typing import Any

import streamlit as st

from app import selection
from app.glossary import TERMS


def heading(text: str, *terms: str) -> None:
    """A heading with the glossary's entries for its terms behind a question mark."""
    st.header(text, help=" ".join(TERMS[term] for term in terms), anchor=False, width="content")


def chart(name: str, drawn: Any) -> None:
    """A Plotly figure in the page's theme."""
    from app.figures.theme import CONFIG

    st.plotly_chart(drawn, key=selection.widget_key(name), config=CONFIG)
