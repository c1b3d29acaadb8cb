"""Every head's picture with its roles and its score, each telling its score, rank and label."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from headlight.app.components import CellMap, HeadGrid, HeadScores, encode_positive, encode_signed
from headlight.app.figures.colours import LEAST_EFFECT, LEAST_WRITTEN
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.ranking import Change, HeadRanking, Ranking
from headlight.app.parts import grid
from headlight.app.parts.labels import SCORES, marks, roles
from headlight.app.runs import thumbnails
from headlight.app.selection.chosen import Selection
from headlight.model.runs.edits import Head

FIRST = 10
PITCH = 72  # pixels of a head in the map at most


def limit_of(rankings: Sequence[Ranking]) -> float:
    """The end of the scale that these rankings share."""
    if not rankings[0].signed:
        return 1.0
    return max(LEAST_EFFECT, *(float(np.nanmax(np.abs(each.values), initial=0.0)) for each in rankings))


def head_map(ranking: Ranking, chosen: Selection, limit: float, side: str = "") -> HeadGrid:
    """Every head's pattern on the prompt with its roles and its score; of a change the score alone, as a colour."""
    encode = encode_signed if ranking.signed else encode_positive
    codes, title = (
        encode(ranking.values, limit),
        f"{side and f'{side}: '}{SCORES[ranking.score].title} ({ranking.unit})",
    )
    kind: Literal["positive", "signed"] = "signed" if ranking.signed else "positive"
    if not isinstance(ranking, HeadRanking):
        flat = codes[..., None, None]
        return HeadGrid(flat, captions(ranking), largest=PITCH, kind=kind, legend_title=title, legend_limit=limit)
    own = ranking.labels
    return HeadGrid(
        grid.pictures(thumbnails.of_run(ranking.subject.run)).codes,
        captions(ranking),
        marks=marks(own, *ranking.subject.shape) if own else None,
        largest=PITCH,
        legend_title="attention weight",
        roles=roles(own),
        role=chosen.choices_of(Choices).finder_role,
        scores=HeadScores(codes, title, limit, kind),
    )


def cells(ranking: Ranking, limit: float, side: str = "") -> CellMap:
    """The same as a map of numbers, each with the icons of its head's labels."""
    labels = ranking.labels if isinstance(ranking, HeadRanking) else {}
    texts = [
        [
            f"{_printed(value, limit)}\n{' '.join(SCORES[kind].icon for kind in labels.get((layer, head), ()))}".strip()
            for head, value in enumerate(row)
        ]
        for layer, row in enumerate(ranking.values.tolist())
    ]
    return CellMap(
        ranking.values,
        *grid.head_axes(ranking.values.shape),
        title=f"{side and f'{side}: '}{SCORES[ranking.score].title} ({ranking.unit})",
        scale="signed" if ranking.signed else "linear",
        ends=(0.0, limit),
        texts=[[text.replace("-", "−") for text in row] for row in texts],
    )


def _printed(value: float, limit: float) -> str:
    """A number of a cell, where it is more than nothing to the eye."""
    return "" if abs(value) < LEAST_WRITTEN * limit else f"{value:.2f}"


def captions(ranking: Ranking) -> list[list[str]]:
    """Caption of each head, one line."""
    n_layers, n_heads = ranking.values.shape
    return [[caption(ranking, (layer, head)) for head in range(n_heads)] for layer in range(n_layers)]


def caption(ranking: Ranking, head: Head) -> str:
    """A head's score with its interval and rank, and its label."""
    value, low, high = (float(each[head]) for each in (ranking.values, ranking.low, ranking.high))
    if np.isnan(value):
        return ranking.label(head) or "no such token"
    sign = "+" if isinstance(ranking, Change) else ""
    interval = "" if np.isnan(low) else f" ({low:{sign}.2f} to {high:{sign}.2f})"
    score = f"{value:{sign}.2f}{interval}".replace("-", "−")
    sides = f"A {ranking.a.values[head]:.2f}, B {ranking.b.values[head]:.2f}" if isinstance(ranking, Change) else ""
    rank = f"{ranking.ranks[head]:,} of {ranking.n_ranked:,}"
    return " · ".join(filter(None, (score, sides, rank, ranking.label(head))))
