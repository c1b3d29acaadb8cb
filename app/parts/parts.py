"""Common elements of several pages."""

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import components, selection
from headlight.app.glossary import TERMS

PICTURES = Path(__file__).parents[2] / "assets" / "screenshots"  # the manual's, each of a page on the first example


def heading(text: str, *terms: str, more: str = "", caption: str = "", level: int = 2, key: str = "") -> None:
    """A heading with the glossary's entries for its terms, and more, behind a question mark; and a line under it.

    One that changes has a key.
    """
    help = " ".join(filter(None, [*(TERMS[term] for term in terms), more]))
    components.heading(text, help, caption, level=level, key=selection.widget_key(f"heading.{key or text}"))


def title_row(title: str, *terms: str, how: str = "", level: int = 2, key: str = "") -> DeltaGenerator:
    """Draw the title of the page (level 1) or a part of it, explained, and return a container for its options."""
    line = st.container(horizontal=True, vertical_alignment="center", key=f"headlight-head-{key or title}")
    with line:
        heading(title, *terms, more=how, level=level, key=key)
    return line


def preview(slug: str) -> None:
    """The manual's picture of a page, faint, in place of what is not there yet."""
    picture = PICTURES / f"{slug}-{st.context.theme.type or 'light'}.png"
    if picture.is_file():
        st.caption("What you will get")
        with st.container(key="headlight-example"):
            st.image(str(picture))
