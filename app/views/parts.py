"""What several pages have in common."""

import streamlit as st

from app.glossary import TERMS


def heading(text: str, *terms: str) -> None:
    """A heading with the glossary's entries for its terms behind a question mark."""
    st.header(text, help=" ".join(TERMS[term] for term in terms), anchor=False, width="content")
