"""What several pages have in common."""

import streamlit as st

from app.glossary import TERMS
from app.selection.chosen import Head


def heading(text: str, *terms: str) -> None:
    """A heading with the glossary's entries for its terms behind a question mark."""
    st.header(text, help=" ".join(TERMS[term] for term in terms), anchor=False, width="content")


def name(head: Head) -> str:
    """What a head is called, layer and head counted from 0: L2H1."""
    return f"L{head[0]}H{head[1]}"
