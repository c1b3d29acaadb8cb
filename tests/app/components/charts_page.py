"""A Streamlit page with maps and charts of known numbers, hostile and repeated tokens among their labels."""

import numpy as np
import streamlit as st

from app.components import Bars, CellAxis, Line, bar_chart, cell_map, line_chart

LINK = '<a href="%">&'
TOKENS = ["the", "the", "<b>x</b>", LINK, "2019", "2020"]
LAYERS = ["L1", "L0", "embed"]
NORMS = np.array([[100, 50, 10, 1, 2, np.nan], [3, 4, 5, 6, 7, np.nan], [8, 9, 10, 11, 12, np.nan]])
CHANGE = np.array([[-3, 0, 1], [0, 3, np.nan]])
COSINES = np.array([[1, 0, -0.5], [0, 1, 0.25], [-0.5, 0.25, 1]])
PLACES = ["embed", "L0", "L1", "L2"]
GROWTH = [10.0, 10.0, 10.0, 1000.0]
GROWTH_B = [100.0, 100.0, 100.0, np.nan]
FAINT = np.full((3, 4), 20.0)
WAY = [0.0, 0.25, 0.5, 1.0]
ADDED = [np.nan, 4.0, -2.0, 1.0]
ADDED_B = [np.nan, 2.0, 0.0, np.nan]
MANY = 1023


def main() -> None:
    """All of them under one another, or with `many` the map of a long prompt alone."""
    st.set_page_config(layout="wide")
    if "many" in st.query_params:
        place = np.arange(MANY)
        tokens = CellAxis("token", [TOKENS[at % len(TOKENS)] for at in place], numbered=True)
        values = np.stack([1.0 + place, np.full(MANY, 1.0)])
        cell_map(
            values, CellAxis("after", ["L0", "embed"]), tokens, title="length", scale="log", ends=(1, MANY), key="many"
        )
        faint = np.sin(np.outer(1 + place, np.ones(13))) + 2
        line_chart([], [f"L{layer}" for layer in range(13)], title="length", along="layer", faint=faint, key="lines")
        return
    tokens = CellAxis("token", TOKENS, numbered=True)
    cell_map(
        NORMS,
        CellAxis("after", LAYERS),
        tokens,
        title="length",
        scale="log",
        ends=(1, 100),
        lacks="not in this run",
        told={"prompts": np.arange(18).reshape(3, 6)},
        key="norms",
    )
    cell_map(
        CHANGE, CellAxis("layer", ["L0", "L1"]), CellAxis("head", list("abc")), title="change", scale="signed", key="c"
    )
    cell_map(
        COSINES, CellAxis("after", LAYERS), CellAxis("and after", LAYERS), title="cosine", ends=(0, 1), key="cosines"
    )
    lines = [Line(LINK, np.array(GROWTH)), Line("B", np.array(GROWTH_B), dashed=True), Line("none", np.full(4, np.nan))]
    line_chart(
        lines, PLACES, title="length", along="layer", faint=FAINT, faint_name="every token", log=True, key="growth"
    )
    way = Line("", np.array(WAY), [f"#{rank}" for rank in (1234, 20, 3, 1)])
    line_chart([way], PLACES, title="probability", along="layer", percent=True, key="way")
    added = [
        Bars("embedding", np.array([0.5, np.nan, np.nan, np.nan]), "grey"),
        Bars("attention, A", np.array(ADDED), "blue"),
        Bars("attention, B", np.array(ADDED_B), "blue", hatched=True),
    ]
    bar_chart(added, PLACES, title="share", along="layer", key="added")


if __name__ == "__main__":
    main()
