"""Figures from known arrays."""

import numpy as np
import pytest

from app.figures import lens, residual
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


def test_the_norm_map_is_logarithmic_and_says_norms() -> None:
    (cells,) = residual.norm_map(NORMS, LAYERS, TOKENS).data
    np.testing.assert_allclose(cells.z[0], [0, 1, 2, np.log10(2)], rtol=1e-6)  # float32
    np.testing.assert_array_equal(cells.customdata, NORMS.astype(np.float32))
    assert dict(zip(cells.colorbar.ticktext, cells.colorbar.tickvals, strict=True)) == {
        "1": 0, "2": np.log10(2), "5": np.log10(5), "10": 1, "20": np.log10(20), "50": np.log10(50), "100": 2
    }  # fmt: skip


def test_the_chosen_tokens_norms_are_the_strong_line_over_all() -> None:
    every, strong = residual.stream_norms(NORMS, 2, LAYERS, TOKENS).data
    np.testing.assert_array_equal(strong.y, [100, 5, 9])
    assert strong.name == "&lt;b&gt;x&lt;/b&gt;"
    lines = np.split(np.array(every.y), np.flatnonzero(np.isnan(every.y)))
    np.testing.assert_array_equal(lines[0], NORMS[:, 0])
    np.testing.assert_array_equal(lines[1][1:], NORMS[:, 1])
    np.testing.assert_array_equal(np.array(every.x)[:4], [0, 1, 2, np.nan])


def test_bars_stand_at_their_layers() -> None:
    bars = residual.writes({"token": 0.5, "position": 0.25}, {"attention": np.array([1.0, -2.0])}, LAYERS, "share").data
    assert [(bar.name, list(bar.x), list(bar.y)) for bar in bars] == [
        ("token", [0], [0.5]),
        ("position", [0], [0.25]),
        ("attention", [1, 2], [1.0, -2.0]),
    ]


def test_cosines_are_shown_as_they_are_with_the_first_layer_on_top() -> None:
    cosine = np.array([[1, 0.25], [0.25, 1]])
    drawn = residual.layer_cosine(cosine, ("embed", "L0"))
    np.testing.assert_array_equal(drawn.data[0].z, cosine)
    assert (drawn.data[0].zmin, drawn.data[0].zmax, drawn.layout.yaxis.autorange) == (0, 1, "reversed")


def test_top_tokens_are_bars_with_the_best_on_top() -> None:
    drawn = lens.top_tokens(np.array([0.6, 0.3]), ["<b>", "<b>"])
    np.testing.assert_array_equal(drawn.data[0].x, [0.6, 0.3])
    np.testing.assert_array_equal(drawn.data[0].y, [0, 1])
    assert drawn.layout.yaxis.ticktext == ("&lt;b&gt;", "&lt;b&gt;")
    assert drawn.layout.yaxis.autorange == "reversed"


def test_the_followed_token_has_its_probability_and_rank_at_every_layer() -> None:
    drawn = lens.followed(np.array([0.1, 0.2, 0.9]), np.array([1234, 2, 1]), LAYERS)
    np.testing.assert_array_equal(drawn.data[0].y, [0.1, 0.2, 0.9])
    assert drawn.data[0].text == ("#1,234", "#2", "#1")
