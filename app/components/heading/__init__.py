"""A heading of a part of the page, with what explains it behind a question mark."""

from pathlib import Path

from headlight.app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


def heading(text: str, help: str = "", caption: str = "", *, key: str) -> None:
    """One of the second level, with a line under it.

    Streamlit's takes a browser 1.5 ms each, as does its caption, and a page has up to seven of both.
    """
    mount(_render, key=key, group=key, props={"text": text, "help": help, "caption": caption}, arrays={})
