"""Plots of the page *Why*: promoted tokens, effects of interventions, and direct attribution."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headlight.app.figures import Plot, Row, bar_list
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why import panels
from headlight.app.parts.charts import Rows
from headlight.app.parts.labels import number, signed
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.tables import Change
from headlight.model.runs.comparison import Comparison

MAX_TOKENS = 5  # tokens that a cell promotes, and that it suppresses


def rows(comparison: Comparison, sides: Mapping[str, Explained], side: str, measured: bool = True) -> Rows:
    """Write of the cell, and the measured effect without it: of A, B or B − A."""
    named = f", {side}" if comparison.b is not None else ""
    outcomes = [_outcomes(numbers.changes_of(sides)[side], named)] if measured else []
    return [[plot] for plot in (*_promoted(sides, side, named), *outcomes)]


def fall(effects: Mapping[str, float], named: str = "") -> Plot:
    """Direct effects of the strongest parts, each from where the one before it ended, by their places."""
    listed = panels.fall_rows(effects, f"target − distractor{named}")
    plot = bar_list.rows(
        listed,
        title=f"Direct logit attribution{named}",
        unit="logits",
        what="direct effect on target − distractor",
        reach=_floor(listed),
    )
    bars, *others = plot.traces
    chosen_alike = {"marker": {"opacity": 1}}  # what a bar explains stands below: the others are not to fade
    bars = {**bars, "customdata": list(range(len(listed))), "unselected": chosen_alike, "selected": chosen_alike}
    return replace(plot, traces=[bars, *others])


def _floor(listed: Sequence[Row]) -> float:
    """How far a scale has to reach at least, so that effects which do not matter are short."""
    largest = max((abs(end) for row in listed for span in row.spans for end in span), default=0.0)
    return LEAST_EFFECT if largest < LEAST_EFFECT else 0.0


def _promoted(sides: Mapping[str, Explained], side: str, named: str) -> list[Plot]:
    at, tokens = sides.get(side) or sides["B"], numbers.promoted_of(sides)[side]
    halves = ((tokens.raised, tokens.raised_by), (tokens.lowered, tokens.lowered_by))
    plots = []
    for title, (ids, by) in zip(panels.PROMOTES[side == DIFFERENCE], halves, strict=True):
        listed = panels.promoted_rows(at.run, ids.values.tolist()[:MAX_TOKENS], by.values.tolist()[:MAX_TOKENS])
        said = title.removesuffix(" (logits)")
        if listed:  # of few labels all may be moved the same way
            title = f"The cell's write {said}{named}"
            floor = _floor(listed)
            plots.append(bar_list.rows(listed, title=title, unit="logits", what="direct effect", reach=floor))
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
        reach=_floor(listed),
    )
