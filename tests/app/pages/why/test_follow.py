"""The way back from a cell to the heads that made its score."""

import pytest

from headlight.app.pages.why.figures import score_matrix
from headlight.app.pages.why.follow import LEAST, sources
from headlight.app.selection import Selection
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.pages.why.cells import explained_of


def test_earlier_heads_are_named_with_the_sums_of_the_score_s_parts(run: Run) -> None:
    at = explained_of(Comparison(run), Selection(heads=((1, 2),)), "A")
    matrix, score = score_matrix(at), float(at.why.parts.score.values)
    columns = dict(zip(matrix.columns, matrix.values.sum(0), strict=True))
    rows = dict(zip(matrix.rows, matrix.values.sum(1), strict=True))
    heads = sources(at)
    for source in heads:
        scores, position = (columns, at.cell.key) if source.side == "key" else (rows, at.cell.query)
        assert source.head[0] < at.cell.layer
        assert source.position == position
        assert source.score == pytest.approx(scores["L{}H{}".format(*source.head)])
        assert source.score > LEAST * abs(score)
    for side, sums in (("key", columns), ("query", rows)):
        named = {"L{}H{}".format(*source.head) for source in heads if source.side == side}
        others = [value for name, value in sums.items() if name.startswith("L0H") and name not in named]
        assert len(named) == 2 or all(value <= LEAST * abs(score) for value in others)


def test_a_head_of_the_first_layer_has_none(run: Run) -> None:
    assert sources(explained_of(Comparison(run), Selection(heads=((0, 1),)), "A")) == []
