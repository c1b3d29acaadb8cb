"""The plots of the page *Head roles*: the score of every head with its interval, of A and B, and how it changes."""

from collections.abc import Mapping, Sequence

from headlight.app.figures import Plot, plots
from headlight.app.pages.heads.found import Found, Scored, changed, find
from headlight.app.pages.heads.subjects import subjects
from headlight.app.parts.charts import Rows
from headlight.app.parts.labels import SCORES
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison


def of(texts: Sequence[str], comparison: Comparison, chosen: Selection) -> Rows:
    """The plots of what has been looked at; none before all of it has."""
    sides = subjects(tuple(texts), comparison, chosen)
    found = {side: each for side, subject in sides.items() if (each := find(subject, chosen)) is not None}
    return rows(found) if len(found) == len(sides) else []


def rows(found: Mapping[str, Found]) -> Rows:
    """Every head above its layer; with a B the change under it, of the heads that both have."""
    if len(found) == 1:
        return [[_plot({"": found["A"]})]]
    return [[_plot(found)], [_plot({DIFFERENCE: changed(found["A"], found["B"])})]]


def _plot(found: Mapping[str, Scored]) -> Plot:
    first = next(iter(found.values()))
    named = f", {DIFFERENCE}" if DIFFERENCE in found else ""
    return plots.points(
        {side: each.values for side, each in found.items()},
        title=f"{SCORES[first.score].title}, by layer and head{named}",
        unit=first.unit,
        what="change" if named else "",
        low={side: each.low for side, each in found.items()},
        high={side: each.high for side, each in found.items()},
        words={side: _labels(each) for side, each in found.items()},
    )


def _labels(found: Scored) -> list[list[str]]:
    n_layers, n_heads = found.values.shape
    return [[found.label((layer, head)) for head in range(n_heads)] for layer in range(n_layers)]
