"""What encoder-decoders wrote, where their heads looked while writing, and the trees of beams it was found in."""

import streamlit as st

from app import selection
from app.components import Choice, Switch
from app.selection.chosen import Attends, Rows
from app.translations import Translations
from app.views import options
from app.views.translated import beams, heads, text

ATTENDS: dict[Attends, str] = {
    "cross": "target → source (cross)",
    "decoder": "target → target",
    "encoder": "source → source",
}
ROWS: dict[Rows, str] = {"written": "token it writes", "read": "token it reads"}
SCALES = {"sqrt": "√", "linear": "linear"}


def render(found: Translations) -> None:
    """The targets, the two strips, the grid of all heads, the chosen ones, and the beams' trees."""
    text.draw(found)
    _options()
    _say_what_is_common(found)
    if selection.current().table:
        heads.as_tables(found)
    else:
        heads.pictures(found)
    beams.draw(found)


def _say_what_is_common(found: Translations) -> None:
    """One line for the heads that only one of two models has."""
    attends = selection.current().attends
    counts = {side: each.attention[attends].pattern.shape[:2] for side, each in found.sides.items()}
    if len(set(counts.values())) > 1:
        said = " and ".join(f"{side} {layers} layers of {n_heads} heads" for side, (layers, n_heads) in counts.items())
        st.caption(f"Here {said}: the heads that both have are shown.")


def _options() -> None:
    rows = options.bind(Choice, "rows", "A row is called by the", options=ROWS)
    options.row(
        options.bind(Choice, "attends", "Attention", options=ATTENDS),
        rows if selection.current().attends == "cross" else None,
        options.bind(Choice, "scale", "Colour scale", options=SCALES),
        options.bind(Switch, "own_scale", "Own scale each"),
        options.as_tables(),
    )
