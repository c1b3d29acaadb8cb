"""Heading of a part of the page, with its explanation behind a question mark."""

from headlight.app.components.shared.mount import mount, register

_render = register(__file__)


def heading(text: str, help: str = "", caption: str = "", *, level: int = 2, key: str) -> None:
    """The page's (level 1) or one of a part of it (level 2), with a line under it.

    Streamlit's takes a browser 1.5 ms each, as does its caption, and a page has up to seven of both.
    """
    mount(_render, key=key, props={"text": text, "help": help, "caption": caption, "level": level})
