"""Where the nodes of a graph stand, and how its edges bend."""

import numpy as np
import pytest

from headlight.app.figures.graph import Mark, _curve, height_of, laid_out


def test_a_column_without_nodes_of_its_own_is_narrow() -> None:
    """One with a token alone, or with none; the others are as wide as their fullest row, so that no two nodes meet."""
    token, head = (lambda column, kind=kind: Mark(kind, column, 0, 1.0, 1, ["x"]) for kind in ("token", "head"))
    laid = laid_out([token(0), token(2), *[head(2)] * 5, head(3)], 4)
    edges = [0.0]
    for middle in laid.columns:
        edges.append(2 * middle - edges[-1])
    assert np.diff(edges) == pytest.approx([0.45, 0.45, 6, 1])  # the third row has its token beside five heads
    assert laid.end == pytest.approx(edges[-1])
    assert np.diff(np.sort(laid.at[1:7, 0])) == pytest.approx(1)


def test_rows_share_the_height_and_keep_room_for_their_names() -> None:
    assert [height_of(n) / max(n, 8) for n in (4, 10, 30, 61)] == [34, 34, 24, 20]


def test_an_edge_leaves_and_arrives_upright() -> None:
    """Against the cubic by De Casteljau's construction, control points half way up."""
    start, end = np.array([1.0, 0.0]), np.array([5.0, 3.0])
    points = np.stack([start, [1.0, 1.5], [5.0, 1.5], end])[:, None]
    shares = np.linspace(0, 1, 13)[:, None]
    while len(points) > 1:
        points = points[:-1] * (1 - shares) + points[1:] * shares
    np.testing.assert_allclose(_curve(start, end), points[0], atol=1e-12)
