"""Where the nodes of a graph stand, and how its edges bend."""

import numpy as np
import pytest

from headlight.app.figures.graph import LABEL_WIDTH, Mark, Scene, _curve, graph, height_of, labelled, laid_out


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


def test_columns_without_nodes_share_a_quarter_of_the_width() -> None:
    """However long the prompt is; what is not taken apart makes no column wide."""
    tokens = [Mark("token", column, 0, 1.0, 1, ["x"]) for column in range(99)]
    rests = [Mark("head", column, 1, 1.0, 1, ["x"], is_rest=True) for column in range(50)]
    laid = laid_out([*tokens, *rests, *[Mark("head", 99, 2, 1.0, 1, ["x"])] * 8], 100)
    assert laid.widths[-1] == 8
    assert laid.end == pytest.approx(8 / 0.75)


def test_labels_have_room_beside_their_marks() -> None:
    """The more influential one first; 17 letters of 6.5 pixels end before the second mark, 18 in it.

    A label that has none on the right stands on the left, if it does not begin beyond the plot's end.
    """
    pixels = np.array([[100.0, 50.0], [240.0, 50.0], [240.0, 90.0], [130.0, 53.0]])

    def at(letters: int) -> list[int]:
        marks = [Mark("head", 0, 0, 1.0, 1, ["x"], label="x" * letters) for _ in pixels]
        return list(labelled(marks[:3], pixels[:3]))

    assert at(17) == [0, 1, 2]  # 100 + 9.5 + 1 + 17 * 6.5 = 221 < 240 - 9.5
    assert at(19) == [1, 2]  # 234
    named = [Mark("head", 0, 0, 1.0, 1, ["x"], label="L1H1") for _ in pixels]
    right = dict.fromkeys(range(4), "right")
    assert labelled(named, pixels) == right | {0: "left"}  # the fourth mark stands in the first one's label
    close = np.array([*pixels[:2], [240.0, 55.0], pixels[3]])  # the second's and the third's labels lie on one another
    assert labelled(named, close) == right | {0: "left", 2: "left"}
    assert labelled(named, close, chosen=2) == right | {0: "left", 1: "left"}
    assert labelled(named[:2], np.array([[20.0, 50.0], [40.0, 50.0]])) == {1: "right"}
    assert labelled(named[:1], np.array([[LABEL_WIDTH - 12.0, 50.0]])) == {0: "left"}  # the right one would be cut


def test_names_of_tokens_along_the_axis_have_room() -> None:
    """Those with nodes above them are named first, at least 14 pixels from one another on a plot of 1,150."""
    marks = [*(Mark("token", column, 0, 1.0, 1, ["x"]) for column in range(200)), Mark("head", 150, 1, 1.0, 1, ["x"])]
    plot = graph(Scene(marks, [], [], None, [f"t{column}" for column in range(200)], ["tokens", "L0"], "token", ""))
    assert "t150" in plot.x.labels
    assert plot.x.ends is not None
    assert np.diff(plot.x.at).min() * 1150 / plot.x.ends[1] >= 14
    assert len(plot.x.labels) > 10


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
