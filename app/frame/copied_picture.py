"""The page's picture as *Copy picture* has it: made when the browser asks for it, which no session waits for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Fetchable
from headlight.app.components.shared.fetchable import Content
from headlight.app.exports import style
from headlight.app.exports.export import Export
from headlight.app.exports.pictures.slide import slide
from headlight.app.runs.runs import turn_beside
from headlight.app.selection import Selection
from headlight.model.base.errors import HeadlightError

KEY = "copied picture"


class CopiedPicture:
    """The picture of the page that a session shows, by one name for all its pages."""

    def __init__(self) -> None:
        self.fetchable = Fetchable(self._content)
        self._draw: Callable[[style.Palette], bytes] | None = None

    def offer(self, export: Export | None, runs_for: Callable[[Selection], Any]) -> None:
        """Offer the picture of the page as it is selected now; none without an export."""
        chosen = selection.current()

        def draw(palette: style.Palette) -> bytes:
            assert export is not None
            drawings = export.drawings(runs_for(chosen), chosen)  # what it computes holds up no other picture
            return style.file(lambda: slide(drawings, palette), palette, "png")

        self._draw = None if export is None else draw

    def _content(self, dark: int) -> Content | None:
        if self._draw is None:
            return None
        try:
            with turn_beside():
                png = self._draw(style.DARK if dark else style.LIGHT)
        except HeadlightError:  # the page says why it shows nothing
            return None
        return {}, {"png": np.frombuffer(png, np.uint8)}


def of_session() -> CopiedPicture:
    """The session's own."""
    return st.session_state.setdefault(KEY, CopiedPicture())
