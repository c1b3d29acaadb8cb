"""Figures from known arrays."""

import numpy as np
import pytest

from app.figures import lens, residual, theme
from app.figures.theme import MAX_TICKS, escape, ticks

LAYERS = ("embed", "L0", "L1")
NORMS = np.array([[1.0, 10.0, 100.0, 2.0], [3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0]])
TOKENS = ("the", "the", "<b>x</b>", '<a href="%">&')


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("a&lt;b", "a&amp;lt;b"),
        ('<a href="%">', '&lt;a href="%"&gt;'),
        ("␣x", "␣x"),
    ],
)
def test_labels_cannot_be_read_as_html(label: str, shown: str) -> None:
    assert escape(label) == shown


def test_repeated_tokens_keep_their_own_places() -> None:
    axis = ticks(TOKENS)
    assert axis["tickvals"] == [0, 1, 2, 3]
    assert axis["ticktext"][:2] == ["the", "the"]
    assert not any("<" in text for text in axis["ticktext"])


def test_a_long_axis_has_few_even_ticks_and_a_long_label_is_shortened() -> None:
    axis = ticks(["x" * 40] * 1000)
    assert len(axis["tickvals"]) <= MAX_TICKS
    assert set(np.diff(axis["tickvals"])) == {63}  # 1000 / 16, rounded up
    assert axis["ticktext"][0] == "x" * 11 + "…"


def test_a_map_of_numbers_is_flat_and_grey_where_there_are_none() -> None:
    """The pointer finds no number there."""
    values = np.array([[1.0, np.nan], [2.0, np.nan]])
    absent, shown = theme.cells(values, zmin=0)
    np.testing.assert_array_equal(shown.z, values)
    np.testing.assert_array_equal(absent.z, [[np.nan, 0], [np.nan, 0]])
    assert absent.colorscale[0][1] == absent.colorscale[1][1] == theme.QUIET
    assert (absent.showscale, shown.hoverongaps, shown.zmin) == (False, False, 0)
    assert len(theme.cells(values[:, :1])) == 1


def test_a_map_of_changes_is_transparent_at_zero_and_even_about_it() -> None:
    (cells,) = theme.signed_cells(np.array([[-3.0, 1.0]]))
    assert (cells.zmin, cells.zmax) == (-3, 3)
    colours = [colour for _, colour in cells.colorscale]
    assert [colour.endswith(", 0)") for colour in colours] == [False, True, True, False]
    red, _, blue = (int(part) for part in colours[0][5:].split(",")[:3])
    assert red > blue  # less is orange
    (nothing,) = theme.signed_cells(np.zeros((1, 2)))
    assert nothing.zmin < 0 < nothing.zmax


def test_the_norm_map_is_logarithmic_and_says_norms() -> None:
    (cells,) = residual.norm_map(NORMS, LAYERS, TOKENS, (1.0, 100.0)).data
    np.testing.assert_allclose(cells.z[0], [0, 1, 2, np.log10(2)], rtol=1e-6)  # float32
    np.testing.assert_array_equal(cells.customdata, NORMS.astype(np.float32))
    assert (cells.zmin, cells.zmax) == (0, 2)
    assert dict(zip(cells.colorbar.ticktext, cells.colorbar.tickvals, strict=True)) == {
        "1": 0, "2": np.log10(2), "5": np.log10(5), "10": 1, "20": np.log10(20), "50": np.log10(50), "100": 2
    }  # fmt: skip


def test_the_norm_map_takes_its_limits_from_both_runs() -> None:
    (cells,) = residual.norm_map(NORMS, LAYERS, TOKENS, (0.1, 1000.0)).data
    assert (cells.zmin, cells.zmax) == (-1, 3)
    assert cells.colorbar.ticktext[-1] == "1000"


def test_the_change_of_the_norms_has_its_sign() -> None:
    absent, change = residual.norm_change(np.array([[1.0, -2.0, np.nan, 0.0]] * 3), LAYERS, TOKENS).data
    np.testing.assert_array_equal(change.z[0], [1, -2, np.nan, 0])
    assert (change.zmin, change.zmax) == (-2, 2)
    np.testing.assert_array_equal(absent.z[0], [np.nan, np.nan, 0, np.nan])


def test_the_chosen_tokens_norms_are_the_strong_line_over_all() -> None:
    every, strong = residual.stream_norms({"<b>x</b>": NORMS}, 2, LAYERS).data
    np.testing.assert_array_equal(strong.y, [100, 5, 9])
    assert strong.name == "&lt;b&gt;x&lt;/b&gt;"
    lines = np.split(np.array(every.y), np.flatnonzero(np.isnan(every.y)))
    np.testing.assert_array_equal(lines[0], NORMS[:, 0])
    np.testing.assert_array_equal(lines[1][1:], NORMS[:, 1])
    np.testing.assert_array_equal(np.array(every.x)[:4], [0, 1, 2, np.nan])


def test_two_runs_lines_differ_by_more_than_colour_and_one_without_the_token_has_none() -> None:
    norms_b = np.where(np.arange(4) == 1, np.nan, 2 * NORMS[:2])  # a layer less, and no second token
    *bundles, a, b = residual.stream_norms({"A": NORMS, "B": norms_b}, 2, LAYERS).data
    assert [line.showlegend for line in bundles] == [True, False]
    np.testing.assert_array_equal(b.y, [200, 10])
    assert (a.name, b.name) == ("A", "B")
    assert a.line.dash != b.line.dash
    assert a.line.color != b.line.color
    assert a.marker.symbol != b.marker.symbol
    assert [line.name for line in residual.stream_norms({"A": NORMS, "B": norms_b}, 1, LAYERS).data[2:]] == ["A"]


WRITES = residual.Writes({"token": 0.5, "position": 0.25}, {"attention": np.array([1.0, -2.0])})


def test_bars_stand_at_their_layers() -> None:
    bars = residual.writes({"": WRITES}, LAYERS, "share").data
    assert [(bar.name, list(bar.x), list(bar.y)) for bar in bars] == [
        ("token", [0], [0.5]),
        ("position", [0], [0.25]),
        ("attention", [1, 2], [1.0, -2.0]),
    ]


def test_two_runs_bars_stand_side_by_side_and_those_of_b_are_hatched() -> None:
    shorter = residual.Writes(WRITES.embeddings, {"attention": np.array([3.0])})
    bars = residual.writes({"A": WRITES, "B": shorter}, LAYERS, "share").data
    assert [bar.name for bar in bars] == [
        "token, A", "token, B", "position, A", "position, B", "attention, A", "attention, B"
    ]  # fmt: skip
    assert [bar.marker.pattern.shape for bar in bars] == ["", "/"] * 3
    assert len({bar.offsetgroup for bar in bars}) == 6
    assert (list(bars[5].x), list(bars[5].y)) == ([1], [3.0])


def test_cosines_are_shown_as_they_are_with_the_first_layer_on_top() -> None:
    cosine = np.array([[1, 0.25], [0.25, 1]])
    drawn = residual.layer_cosine(cosine, ("embed", "L0"))
    np.testing.assert_array_equal(drawn.data[0].z, cosine)
    assert (drawn.data[0].zmin, drawn.data[0].zmax, drawn.layout.yaxis.autorange) == (0, 1, "reversed")
    change = residual.cosine_change(np.array([[0, -0.5], [-0.5, 0]]), ("embed", "L0"))
    assert (change.data[0].zmin, change.data[0].zmax, change.layout.yaxis.autorange) == (-0.5, 0.5, "reversed")


def test_top_tokens_are_bars_with_the_best_on_top() -> None:
    drawn = lens.top_tokens(np.array([0.6, 0.3]), ["<b>", "<b>"], largest=0.6)
    np.testing.assert_array_equal(drawn.data[0].x, [0.6, 0.3])
    np.testing.assert_array_equal(drawn.data[0].y, [0, 1])
    assert drawn.layout.yaxis.ticktext == ("&lt;b&gt;", "&lt;b&gt;")
    assert drawn.layout.yaxis.autorange == "reversed"


def test_two_runs_top_tokens_share_their_axis() -> None:
    a = lens.top_tokens(np.array([0.6, 0.3]), ["x", "y"], largest=0.8, run="A")
    b = lens.top_tokens(np.array([0.8, 0.1]), ["x", "y"], largest=0.8, run="B")
    assert a.layout.xaxis.range == b.layout.xaxis.range
    assert a.layout.xaxis.range[1] > 0.8
    assert a.data[0].marker.pattern.shape != b.data[0].marker.pattern.shape


def test_the_followed_token_has_its_probability_and_rank_at_every_layer() -> None:
    way = lens.Followed(np.array([0.1, 0.2, 0.9]), np.array([1234, 2, 1]))
    drawn = lens.followed({"": way}, LAYERS)
    np.testing.assert_array_equal(drawn.data[0].y, [0.1, 0.2, 0.9])
    assert drawn.data[0].text == ("#1,234", "#2", "#1")
    assert not drawn.data[0].showlegend
    a, b = lens.followed({"A": way, "B": lens.Followed(way.probabilities[:2], way.ranks[:2])}, LAYERS).data
    assert list(b.x) == [0, 1]
    assert a.line.dash != b.line.dash
    assert a.textposition != b.textposition
