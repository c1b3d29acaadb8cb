"""Registers a component and mounts it; the browser owns the value, the server begins it and may force it."""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from app.components.shared.packing import pack

Renderer = Callable[..., Any]

_SHARED = Path(__file__).parent


def register(folder: Path) -> Renderer:
    """The component whose scripts and styles are in that folder.

    Its scripts and the shared ones become one, because Streamlit serves files only of installed packages. They declare
    functions, classes and constants and run nothing at once, so their order does not matter.
    """
    return st.components.v2.component(
        f"headlight.{folder.name}",
        js=_joined("*.js", _SHARED, folder),
        css=_joined("*.css", _SHARED, folder),
    )


def _joined(pattern: str, *folders: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.glob(pattern)))


def mount(
    renderer: Renderer,
    *,
    key: str,
    group: str,
    props: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    value: Any = None,
    epoch: int = 0,
) -> Any:
    """Show the component and return its value: the user's if there is one of this epoch, else the one given.

    The value travels in `data` only as it was when its epoch began. A newer one would make `data` differ, and all
    arrays would be sent again at each click.
    """
    begun_key = f"{key}.begun"
    if begun_key not in st.session_state or st.session_state[begun_key][0] != epoch:
        st.session_state[begun_key] = (epoch, value)
    content = blake2b(pack(props, arrays), digest_size=8).hexdigest()
    header = {
        "key": key,
        "group": group,
        "content": content,
        "epoch": epoch,
        "value": st.session_state[begun_key][1],
        "props": props,
    }
    state = renderer(key=key, data=pack(header, arrays), on_value_change=lambda: None).value
    return state["value"] if state is not None and state["epoch"] == epoch else value
