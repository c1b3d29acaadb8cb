"""Contributions to the difference of two labels, where poolers or norms keep it off the page *Why*."""

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import CellMap, cell_map
from headlight.app.pages.residual.maps import GROUP, head_map, rest_map
from headlight.app.parts import options, tables
from headlight.app.parts.labels import isolated, number, quoted
from headlight.app.parts.pair import Pair, pair_of, place_of
from headlight.app.parts.parts import title_row
from headlight.app.selection.chosen import Selection
from headlight.model.attention.label_parts import LabelParts, has_label_parts, label_parts
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

TITLE = "part of the difference (logits)"


def pair(comparison: Comparison, chosen: Selection) -> Pair | None:
    """The two labels, where the parts of their difference are on this page and not on *Why*."""
    same = len({run.cfg.output_labels for run in comparison.runs}) == 1
    return pair_of(comparison, chosen) if same and all(map(has_label_parts, comparison.runs)) else None


def draw(comparison: Comparison) -> None:
    """Draw the two labels and their difference with the heads' and other parts' contributions, unless *Why* has it."""
    if (of := pair(comparison, selection.current())) is None:
        return
    names = comparison.a.outputs.labels([of.target, of.distractor])
    with title_row("What adds to the label", "label_parts"):
        fields = ("target",) if comparison.a.cfg.has_one_output else ("target", "distractor")
        chosen = zip(fields, names, strict=False)
        options.row(*(options.token(field, name, comparison.a.label_names) for field, name in chosen), name="labels")
    for side, parts in parts_of(comparison, of, selection.current()).items():
        run = comparison.sides[side]
        position = comparison.positions(run)[place_of(comparison, selection.current())]
        said = quoted(names[0]) if run.cfg.has_one_output else f"{quoted(names[0])} − {quoted(names[1])}"
        named = f"{side}: " if comparison.b is not None else ""
        at = "" if run.cfg.pools_mean else f" at {isolated(comparison.token_at(run, position or 0))}"
        st.text(f"{named}{said}{at}:  {number(float(parts.difference.values))} logits")
        if selection.current().table:
            heads = [head_name((layer, head)) for layer, head in np.ndindex(*parts.heads.values.shape)]
            values = np.concatenate([parts.heads.values.numpy().ravel(), parts.rest.values.numpy()])
            tables.draw(
                {"Part": [*heads, *parts.rest_names], TITLE: values}, f"What each part adds to the label {side}"
            )
            continue
        for drawn in maps(side, parts):
            cell_map(drawn, group=GROUP, key=selection.widget_key(f"label {drawn.columns.name} {side}"))


def parts_of(comparison: Comparison, of: Pair, chosen: Selection) -> dict[str, LabelParts]:
    """The parts in each run that has the place."""
    sides = comparison.sides_at(place_of(comparison, chosen))
    return {side: label_parts(run, of.target, of.distractor, at) for side, (run, at) in sides.items()}


def maps(side: str, parts: LabelParts) -> list[CellMap]:
    """Contributions of each head, and of everything else."""
    heads, rest = parts.heads.values.numpy(), parts.rest.values.numpy()
    return [head_map(heads, side, TITLE), rest_map(parts.rest_names, rest, side, TITLE)]
