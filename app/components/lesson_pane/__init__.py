"""The pane of lessons at the side of the window, from below on a phone: a list, a lesson at a step, or a new one."""

from collections.abc import Callable, Mapping
from typing import Any

from headlight.app.components.shared.mount import component_value, mount, register

_render = register(__file__)


def lesson_pane(props: Mapping[str, Any], *, key: str, hear: Callable[[Any], None]) -> None:
    """Show the pane; `hear` is called with what was clicked in it, before the script runs again.

    Progress and a draft are kept in the browser. Every text is shown as it is written.
    """
    mount(_render, key=key, props=props, changed=lambda: hear(component_value(key, 0, None)))
