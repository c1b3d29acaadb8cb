"""A Streamlit page with maps of known numbers, hostile and repeated tokens among their labels."""

import numpy as np
import streamlit as st

from headlight.app.components import CellAxis, CellMap, cell_map

LINK = '<a href="%">&'
TOKENS = ["the", "the", "<b>x</b>", LINK, "2019", "2020"]
LAYERS = ["L1", "L0", "embed"]
NORMS = np.array([[100, 50, 10, 1, 2, np.nan], [3, 4, 5, 6, 7, np.nan], [8, 9, 10, 11, 12, np.nan]])
CHANGE = np.array([[-3, 0, 1], [0, 3, np.nan]])
COSINES = np.array([[1, 0, -0.5], [0, 1, 0.25], [-0.5, 0.25, 1]])
SUMS = np.array([[3, np.nan, 3], [9, np.nan, 9]])
MANY = 1023
DEEP = 30  # layers


def main() -> None:
    """All under one another; the map of a long prompt alone with `many`, with `deep` those of a deep model.

    With `changing` a whole map and one that is being filled, whose numbers become others by a click.
    """
    st.set_page_config(layout="wide")
    if "changing" in st.query_params:
        values = CHANGE * (2 if st.button("Change") else 1)
        axes = CellAxis("layer", ["L0", "L1"]), CellAxis("head", list("abc"))
        for key, numbers in {"whole": np.nan_to_num(values), "filling": values}.items():
            cell_map(CellMap(numbers, *axes, title=key, scale="signed", ends=(0, 9)), key=key)
        return
    if "deep" in st.query_params:
        layers = CellAxis("layer", [f"L{layer}" for layer in range(DEEP)])
        long, narrow = ["a long name of a column", "another one of that length"], 40
        for names in (["H0", "H1"], long, [f"a long name of column {column}" for column in range(narrow)]):
            values = np.zeros((DEEP, len(names)))
            cell_map(CellMap(values, layers, CellAxis("part", names), title="nothing"), key=names[0])
        return
    if "many" in st.query_params:
        place = np.arange(MANY)
        tokens = CellAxis("token", [TOKENS[at % len(TOKENS)] for at in place], numbered=True)
        values = np.stack([1.0 + place, np.full(MANY, 1.0)])
        cell_map(
            CellMap(values, CellAxis("after", ["L0", "embed"]), tokens, title="length", scale="log", ends=(1, MANY)),
            key="many",
        )
        return
    tokens = CellAxis("token", TOKENS, numbered=True)
    cell_map(
        CellMap(
            NORMS,
            CellAxis("after", LAYERS),
            tokens,
            title="length",
            scale="log",
            ends=(1, 100),
            lacks="not in this run",
            details={"prompts": np.arange(18).reshape(3, 6)},
        ),
        key="norms",
    )
    cell_map(
        CellMap(CHANGE, CellAxis("layer", ["L0", "L1"]), CellAxis("head", list("abc")), title="change", scale="signed"),
        key="c",
    )
    cell_map(
        CellMap(COSINES, CellAxis("after", LAYERS), CellAxis("and after", LAYERS), title="cosine", ends=(0, 1)),
        key="cosines",
    )
    rows, columns = CellAxis("part", ["one", "sum"]), CellAxis("", ["a", "b", "sum"])
    chosen = cell_map(
        CellMap(SUMS, rows, columns, title="parts", scale="signed", ends=(0, 3), sums=True), choosable=True, key="sums"
    )
    st.text(f"chosen {chosen and tuple(chosen)}")
    doubted = np.array([[True, False], [False, False]])
    sides = CellAxis("layer", ["L0", "L1"]), CellAxis("head", ["H0", "H1"])
    unsure = CellMap(np.full((2, 2), 2.0), *sides, title="means", scale="signed", unsure=doubted, unsure_as="may be 0")
    cell_map(unsure, key="unsure")


if __name__ == "__main__":
    main()
