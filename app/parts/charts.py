"""A page's figures, which are Plotly's, drawn after the pictures above them; and a plot of points to choose from."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Literal

import streamlit as st
from streamlit import runtime

from headlight.app import selection
from headlight.app.figures import CONFIG, Plot, beside, figure

Rows = Sequence[Sequence[Plot]]
# Seconds by which a figure comes after what stands above it. Plotly takes the browser for a tenth of a second, in which
# nothing is painted: a canvas that came just before would wait for it (`make bench ARGS=ui`).
BEHIND = 0.05
Tool = Literal["lasso", "box"]


def draw(rows: Rows, alt: str) -> None:
    """Draw the plots in the page's theme; `alt` describes those to a screen reader that are below each other.

    Plots beside each other are figures of their own in columns, which are below each other on a phone.
    """
    if runtime.exists():
        time.sleep(BEHIND)
    with st.container(key="headlight-figure"):
        for number, group in enumerate(_together([row for row in rows if row])):
            if len(group[0]) > 1:
                _draw_beside(group[0], f"figure{number}")
            else:
                alone(group, alt, f"figure{number}")


def _together(rows: Rows) -> Iterator[Rows]:
    """Rows that are drawn as one: several plots beside each other, or all single ones that follow each other."""
    for is_several, following in groupby(rows, lambda row: len(row) > 1):
        group = list(following)
        yield from ([row] for row in group) if is_several else [group]


def _draw_beside(row: Sequence[Plot], name: str) -> None:
    figures = beside(row, st.context.theme.type == "dark")
    for place, (column, drawn) in enumerate(zip(st.columns([plot.share for plot in row]), figures, strict=True)):
        key = selection.widget_key(f"{name}.{place}")
        column.plotly_chart(drawn, theme=None, config=dict(CONFIG), key=key, alt=row[place].title)


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
