"""A page's figure: Plotly's, one a page, drawn after the pictures above it; and a plot of points to choose from."""

import time
from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st
from streamlit import runtime

from headlight.app import selection
from headlight.app.figures import CONFIG, Plot, figure

Rows = Sequence[Sequence[Plot]]
# Seconds by which a figure comes after what stands above it. Plotly takes the browser for a tenth of a second, in which
# nothing is painted: a canvas that came just before would wait for it (`make bench ARGS=ui`).
BEHIND = 0.05
Tool = Literal["lasso", "box"]


def draw(rows: Rows, alt: str, in_halves: bool = False) -> None:
    """Draw the plots in the page's theme; `alt` describes them to a screen reader.

    On a phone a figure with plots side by side is wider than the page, and is moved sideways; one `in_halves` has
    two of them, each as wide as the page.
    """
    several = any(len(row) > 1 for row in rows)
    if runtime.exists():
        time.sleep(BEHIND)
    width = "-wide-halves" if several and in_halves else "-wide" if several else ""
    with st.container(key=f"headlight-figure{width}"):
        alone(rows, alt, "figure")


def choosable(
    plot: Plot,
    alt: str,
    name: str,
    choose: Callable[[list[int]], None],
    tools: Sequence[Tool] = ("lasso", "box"),
    is_wide: bool = False,
) -> None:
    """A plot of its own whose points are chosen by a click, or with a lasso or a box where these are its tools.

    One that `is_wide` is moved sideways on a phone. `choose` hears the places that the chosen points have as their
    `customdata`, before the script runs again.
    """
    key = selection.widget_key(name)

    def heard() -> None:
        if selection.forgotten():
            return
        points = st.session_state[key]["selection"]["points"]
        choose(list(dict.fromkeys(int(point["customdata"]) for point in points if "customdata" in point)))

    dark = st.context.theme.type == "dark"
    # Streamlit has a click choose a point only while neither tool is taken up: so they are to be seen.
    config = (
        {**CONFIG, "modeBarButtonsToRemove": ["autoScale2d", "zoom2d"], "displayModeBar": True} if tools else CONFIG
    )
    drawn = figure([[plot]], dark)
    modes: tuple[Tool | Literal["points"], ...] = ("points", *tools)
    with st.container(key=f"headlight-figure{'-wide' if is_wide else ''}-{name}"):
        st.plotly_chart(drawn, theme=None, config=dict(config), key=key, alt=alt, on_select=heard, selection_mode=modes)


def alone(rows: Rows, alt: str, name: str) -> None:
    """Plots that stand where they are spoken of, apart from the page's figure."""
    dark = st.context.theme.type == "dark"
    st.plotly_chart(figure(rows, dark), theme=None, config=dict(CONFIG), key=selection.widget_key(name), alt=alt)
