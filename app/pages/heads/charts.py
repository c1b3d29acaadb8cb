"""The plots of the page *Head roles*: the score of every head with its interval, of A and B, and how it changes."""

from collections.abc import Mapping

from headlight.app.figures import Plot, plots
from headlight.app.pages.heads.ranking import HeadRanking, Ranking, changed
from headlight.app.parts.charts import Rows
from headlight.app.parts.labels import SCORES
from headlight.app.parts.sides import DIFFERENCE


def rows(rankings: Mapping[str, HeadRanking]) -> Rows:
    """Every head above its layer; with a B the change under it, of the heads that both have."""
    if len(rankings) == 1:
        return [[_plot({"": rankings["A"]})]]
    return [[_plot(rankings)], [_plot({DIFFERENCE: changed(rankings["A"], rankings["B"])})]]


def _plot(rankings: Mapping[str, Ranking]) -> Plot:
    first = next(iter(rankings.values()))
    named = f", {DIFFERENCE}" if DIFFERENCE in rankings else ""
    return plots.points(
        {side: each.values for side, each in rankings.items()},
        title=f"{SCORES[first.score].title}, by layer and head{named}",
        unit=first.unit,
        what="change" if named else "",
        low={side: each.low for side, each in rankings.items()},
        high={side: each.high for side, each in rankings.items()},
        words={side: _labels(each) for side, each in rankings.items()},
    )


def _labels(ranking: Ranking) -> list[list[str]]:
    n_layers, n_heads = ranking.values.shape
    return [[ranking.label((layer, head)) for head in range(n_heads)] for layer in range(n_layers)]
