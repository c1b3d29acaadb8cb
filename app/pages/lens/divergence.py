"""Loss of each of a model's lenses layer by layer: on this prompt, and on held-out text."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float

from headlight.app import selection
from headlight.app.figures import Plot, plots
from headlight.app.figures.plots import Look
from headlight.app.pages.lens import reading
from headlight.app.pages.lens.choices import Choices, lenses_of
from headlight.app.parts import charts, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.runs import lenses, models
from headlight.app.selection.chosen import Selection
from headlight.model.base.commands import make
from headlight.model.lens.kinds import TITLES, Kind, Lens
from headlight.model.lens.run_lens import mean_divergences
from headlight.model.lens.tables import name_for
from headlight.model.runs.comparison import Comparison

UNIT, WHAT = "nats", "KL(final ‖ layer)"
LOOKS: dict[Kind, Look] = {"logit": ("grey", "solid"), "tuned": ("blue", "solid"), "jacobian": ("teal", "solid")}
NONE = "No tuned or Jacobian lens found for {}. Open a published one by its folder or hub name, or fit both:"
Values = Float[np.ndarray, " layer"]


def draw(comparison: Comparison, by: Mapping[str, Lens], is_read: bool) -> None:
    """A line a lens through the layers of this prompt, once all of it is read, and beside it of held-out text."""
    heading("Lens quality by layer", "lens_kl", "lens_tuned", "lens_jacobian", key="divergence")
    if not is_read:
        st.caption("A mean over all positions: it is drawn when the rest of the lens is computed.")
        return
    drawn = rows(comparison, by, selection.current())
    if selection.current().table:
        for title, lines in _all(comparison, by, selection.current()).items():
            st.caption(plain(f"{title} ({UNIT})"))
            tables.draw(tables.of_rows("After layer", comparison.layer_labels, lines), f"{WHAT} in {UNIT}: {title}")
    else:
        for number, row in enumerate(drawn):
            columns = st.columns(len(row))
            for column, plot in zip(columns, row, strict=True):
                with column:
                    charts.alone([[plot]], f"{plot.title}, by layer", f"divergence{number}{plot.title}")
    for run in {run.source.name: run for run in comparison.runs}.values():
        if len(lenses_of(run, by["A" if run is comparison.a else "B"])) == 1:
            st.text(NONE.format(run.source.name))
            st.code(make("fit-lens", MODEL=models.opened_by(run.source)), "bash")


def rows(comparison: Comparison, by: Mapping[str, Lens], chosen: Selection) -> charts.Rows:
    """The lines as plots: side by side, but for two runs, whose lines on the prompt have a row of their own."""
    panels = [_plot(comparison, title, lines) for title, lines in _all(comparison, by, chosen).items()]
    return [panels] if comparison.b is None else list(filter(None, [panels[:1], panels[1:]]))


def _all(comparison: Comparison, by: Mapping[str, Lens], chosen: Selection) -> dict[str, dict[str, Values]]:
    """By title the lines' values, by their names."""
    panels = {f"Mean {WHAT}, this prompt": _on_prompt(comparison, by)}
    source = chosen.choices_of(Choices).lens_from
    for side, run in comparison.sides.items():
        held_out = lenses.held_out(run, by[side].kind, name_for(comparison, run, source))
        if held_out is not None:
            lines = {TITLES[kind]: np.array(values, dtype=float) for kind, values in held_out.kl.items()}
            panels[f"{WHAT}, {run.source.name}'s {held_out.n_tokens:,} held-out tokens"] = lines
    return panels


def _on_prompt(comparison: Comparison, by: Mapping[str, Lens]) -> dict[str, Values]:
    """Readings of each run's lenses that are present, or can be computed soon."""
    lines: dict[str, Values] = {}
    for side, run in comparison.sides.items():
        for lens in lenses_of(run, by[side]):
            if lens == by[side] or reading.is_quick(run, lens):
                lines[lens.title if comparison.b is None else f"{lens.title}, {side}"] = mean_divergences(
                    run, lens
                ).values.numpy()
    return lines


def _plot(comparison: Comparison, title: str, lines: Mapping[str, Values]) -> Plot:
    by_title = {TITLES[kind]: look for kind, look in LOOKS.items()}
    looks: dict[str, Any] = {}
    for name in lines:
        lens, _, side = name.partition(", ")
        looks[name] = (by_title[lens][0], "dash" if side == "B" else "solid")
    filled = {name: tables.filled(values, len(comparison.layer_labels)) for name, values in lines.items()}
    alone = next(iter(lines)) if len(lines) == 1 else ""  # of which the title says what it is
    if alone:
        title, filled, looks = f"{title}, {alone}", {"": filled[alone]}, {"": looks[alone]}
    return plots.lines(filled, comparison.layer_labels, title=title, unit=UNIT, what="KL", alone=alone, looks=looks)
