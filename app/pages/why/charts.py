"""Plots of the page *Why*: promoted tokens, effects of interventions, and direct attribution."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headlight.app.figures import Plot, Row, bar_list
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why import panels
from headlight.app.parts.charts import Rows
from headlight.app.parts.labels import number, signed
from headlight.app.parts.sides import DIFFERENCE, compared_parts
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.tables import Change, effect_by_name
from headlight.model.runs.comparison import Comparison

MAX_TOKENS = 5  # tokens that a cell promotes, and that it suppresses


def rows(comparison: Comparison, sides: Mapping[str, Explained], side: str, measured: bool = True) -> Rows:
    """Write of the cell, the measured effect without it, and the sources of the prediction: A, B or B − A."""
    named = f", {side}" if comparison.b is not None else ""
    effects = compared_parts(sides, effect_by_name)[side]
    fall = bar_list.rows(
        panels.fall_rows(effects, f"target − distractor{named}"),
        title=f"Direct logit attribution{named}",
        unit="logits",
        what="direct effect on target − distractor",
    )
    outcomes = [_outcomes(numbers.changes_of(sides)[side], named)] if measured else []
    return [[plot] for plot in (*_promoted(sides, side, named), *outcomes, fall)]


def _promoted(sides: Mapping[str, Explained], side: str, named: str) -> list[Plot]:
    at, tokens = sides.get(side) or sides["B"], numbers.promoted_of(sides)[side]
    halves = ((tokens.raised, tokens.raised_by), (tokens.lowered, tokens.lowered_by))
    plots = []
    for title, (ids, by) in zip(panels.PROMOTES[side == DIFFERENCE], halves, strict=True):
        listed = panels.promoted_rows(at.run, ids.values.tolist()[:MAX_TOKENS], by.values.tolist()[:MAX_TOKENS])
        said = title.removesuffix(" (logits)")
        if listed:  # of few labels all may be moved the same way
            title = f"The cell's write {said}{named}"
            plots.append(bar_list.rows(listed, title=title, unit="logits", what="direct effect"))
    return plots


def _outcomes(changes: Sequence[Change], named: str) -> Plot:
    listed: list[Row] = [
        replace(
            row,
            label=f"{each.name}\nKL {number(each.kl)}{each.top and f' → {each.top}'}",
            text=signed(each.total),
        )
        for row, each in zip(panels.outcome_rows(changes), changes, strict=True)
    ]
    return bar_list.rows(
        listed,
        title=f"Interventions on the cell{named}",
        unit="logits",
        what="change of target − distractor",
        series=("direct", "total, measured"),
    )
