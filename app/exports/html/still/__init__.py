"""Static picture, in both themes, of a plot that the page draws by Plotly, for files without Plotly's script."""

import base64
from typing import Any

from headlight.app.components.shared.mount import mount, register

_render = register(__file__)


def still(light: bytes, dark: bytes, *, title: str, key: str) -> None:
    """Show one of two svg files, by the reader's theme; `title` is its text for screen readers."""
    props: dict[str, Any] = {"title": title}
    for name, svg in (("light", light), ("dark", dark)):
        props[name] = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    mount(_render, key=key, props=props)
