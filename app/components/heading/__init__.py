"""Heading of a part of the page, with its explanation behind a question mark."""

from headlight.app.components.shared.mount import mount, register

_render = register(__file__)


def heading(text: str, help: str = "", caption: str = "", *, key: str) -> None:
    """One of the second level, with a line under it.

    Streamlit's takes a browser 1.5 ms each, as does its caption, and a page has up to seven of both.
    """
    mount(_render, key=key, props={"text": text, "help": help, "caption": caption})
