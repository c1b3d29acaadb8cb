"""Plots of what parts add to a logit: direct effects, promoted tokens, and interventions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headlight.app.figures import Plot, Row, bar_list
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.figures.text import alike
from headlight.app.parts import part_maps
from headlight.app.parts.labels import nats
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.tables import Change
from headlight.model.text.outputs import Outputs

MAX_TOKENS = 5  # tokens that a cell promotes, and that it suppresses


def fall(effects: Mapping[str, float], named: str = "", total: str = "target − distractor") -> Plot:
    """Direct effects of the strongest parts, each from where the one before it ended, by their places."""
    listed = part_maps.fall_rows(effects, f"{total}{named}")
    plot = bar_list.rows(
        listed,
        title=f"Direct logit attribution{named}",
        unit="logits",
        what="direct effect",  # on what the last bar is called
        reach=_floor(listed),
    )
    bars, *others = plot.traces
    chosen_alike = {"marker": {"opacity": 1}}  # what a bar explains stands below: the others are not to fade
    bars = {**bars, "customdata": list(range(len(listed))), "unselected": chosen_alike, "selected": chosen_alike}
    return replace(plot, traces=[bars, *others])


def _floor(listed: Sequence[Row]) -> float:
    """How far a scale has to reach at least, and to which side, so that effects which do not matter are short."""
    farthest = max((end for row in listed for span in row.spans for end in span), key=abs, default=0.0)
    return math.copysign(LEAST_EFFECT, farthest) if abs(farthest) < LEAST_EFFECT else 0.0


def promoted(names: Outputs, tokens: Promoted, titles: Sequence[str], named: str = "") -> list[Plot]:
    """Tokens that a write promotes, and those that it suppresses; `titles` say so, with the unit."""
    halves = ((tokens.raised, tokens.raised_by), (tokens.lowered, tokens.lowered_by))
    plots = []
    for title, (ids, by) in zip(titles, halves, strict=True):
        listed = part_maps.promoted_rows(names, ids.values.tolist()[:MAX_TOKENS], by.values.tolist()[:MAX_TOKENS])
        said = title.removesuffix(" (logits)")
        if listed:  # of few labels all may be moved the same way
            title = f"The cell's write {said}{named}"
            plots.append(bar_list.rows(listed, title=title, unit="logits", what="direct effect", reach=_floor(listed)))
    return plots


def outcomes(changes: Sequence[Change], named: str) -> Plot:
    """Direct and measured effect of each intervention on a cell."""
    totals = alike([each.total for each in changes], signed=True)
    listed: list[Row] = [
        replace(row, label=f"{each.name}\nKL {nats(each.kl)}{each.top and f' → {each.top}'}", text=total)
        for row, each, total in zip(part_maps.outcome_rows(changes), changes, totals, strict=True)
    ]
    return bar_list.rows(
        listed,
        title=f"Change of target − distractor without the cell{named}",
        unit="logits",
        what="change",
        series=("direct", "total, measured"),
        reach=_floor(listed),
    )
