"""Words for a screen reader: what a run's end looks like to those who see it."""

from pathlib import Path

from headlight.app.components.shared.mount import mount, register

_render = register(Path(__file__).parent)


def announcer(text: str, *, key: str) -> None:
    """Have a screen reader say the text when it is another than before; nothing is shown."""
    mount(_render, key=key, group=key, props={"text": text}, arrays={})
