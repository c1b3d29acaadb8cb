"""Figures hold the numbers that they are given, under labels that are text, with units on axes and colour bars."""

import html
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from headlight.app import figures
from headlight.app.figures import colours, text
from headlight.app.figures.bar_list import ROOM
from headlight.app.figures.layout import LONGEST_TITLE, TEMPLATES, TITLE_LINE, Axis, Plot, figure
from headlight.app.server import theme
from headlight.model.attention.residual import decompose, layer_cosine, stream_norms
from headlight.model.measure import Measure
from tests.places import ROOT

HOSTILE = ["<b>x</b>", '<a href="//e">y</a>', "$x^2$", "&lt;", "the", "the", "%{x}", "<br>", "\ud800"]
ESCAPED = [
    "&lt;b&gt;x&lt;/b&gt;",
    '&lt;a href="//e"&gt;y&lt;/a&gt;',
    "&#36;x^2&#36;",
    "&amp;lt;",
    "the",
    "the",
    "%{x}",
    "&lt;br&gt;",
]
N = len(HOSTILE)
STREAMS = [torch.randn(N, 4, generator=torch.Generator().manual_seed(layer)) * 10**layer for layer in range(4)]
NORMS = stream_norms(STREAMS)
EFFECTS = Measure("direct effect", "logits", ("part",), torch.tensor([3.0, -1.0, 0.5, 0.25]))
SQUARE = np.arange(N * N, dtype=float).reshape(N, N) / N**2
HEADS = np.array([[0.1, 0.9, np.nan], [0.4, 0.5, 0.6]])

EVERY: dict[str, Callable[[bool], Any]] = {
    "attention": lambda dark: figures.attention({"A": SQUARE, "B": SQUARE, "B − A": -SQUARE}, HOSTILE, dark=dark),
    "residual_norms": lambda dark: figures.residual_norms({"A": NORMS, "B": NORMS}, HOSTILE, 1, dark=dark),
    "components": lambda dark: figures.components(
        decompose({"embed": STREAMS[0], "<i>": STREAMS[1]}, STREAMS[3]), 2, dark=dark
    ),
    "cosine": lambda dark: figures.cosine(layer_cosine(STREAMS), dark=dark),
    "logit_lens": lambda dark: figures.logit_lens(SQUARE, HOSTILE, [HOSTILE] * N, dark=dark),
    "followed_token": lambda dark: figures.followed_token(SQUARE[0], HOSTILE[0], dark=dark),
    "next_tokens": lambda dark: figures.next_tokens(HOSTILE, SQUARE[0], dark=dark),
    "attribution": lambda dark: figures.attribution(HOSTILE[:4], EFFECTS, total=HOSTILE[0], dark=dark),
    "patching_map": lambda dark: figures.patching_map(SQUARE - 0.5, HOSTILE, dark=dark),
    "head_scatter": lambda dark: figures.head_scatter(HEADS, HEADS - 0.1, HEADS + 0.2, dark=dark),
    "head_statistics": lambda dark: figures.head_statistics(HEADS, HEADS / 2, dark=dark),
    "prompt_statistics": lambda dark: figures.prompt_statistics(
        SQUARE[0], HEADS, HEADS / 4, head=HOSTILE[0], title=HOSTILE[1], dark=dark
    ),
    "generated": lambda dark: figures.generated({"A": SQUARE[0], "B": SQUARE[1]}, SQUARE[2], HOSTILE, dark=dark),
    "training_curves": lambda dark: figures.training_curves(
        {HOSTILE[0]: (np.arange(3), np.array([3.0, 2.0, 1.0]))}, "nats", log=True, dark=dark
    ),
}


def texts(node: Any) -> list[str]:
    """Every text of a figure that Plotly reads as markup: what is not a number, a colour or a name of its own."""
    if isinstance(node, dict):
        read = ("text", "hovertext", "ticktext", "name", "title")
        return [
            leaf
            for key, value in node.items()
            if key != "template"
            for leaf in (
                [each for each in _flat(value) if isinstance(each, str)] if key in read and key != "title" else []
            )
            + texts(value)
        ]
    return [leaf for each in node for leaf in texts(each)] if isinstance(node, list) else []


def _flat(value: Any) -> list[Any]:
    return [one for each in value for one in _flat(each)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("dark", [False, True])
def test_no_text_of_a_figure_is_markup(name: str, dark: bool) -> None:
    figure = json.loads(EVERY[name](dark).to_json())
    strings = texts(figure)
    assert strings
    for each in strings:
        markup = each.replace("<br>", "") if "<br>" in each else each  # the lines of what is pointed at
        assert "<" not in markup
        assert "$" not in markup
        assert "&" not in markup.replace("&lt;", "").replace("&gt;", "").replace("&amp;", "").replace("&#36;", "")


@pytest.mark.parametrize("name", EVERY)
def test_every_axis_and_colour_bar_says_what_it_is(name: str) -> None:
    layout = EVERY[name](False).to_dict()["layout"]
    named = [key for key in layout if key.startswith(("xaxis", "yaxis"))]
    labelled = [key for key in named if "ticktext" in layout[key] and not layout[key]["title"]["text"]]
    assert not [key for key in named if not layout[key]["title"]["text"] and key not in labelled]
    assert all(key.startswith("yaxis") for key in labelled)  # the names of bars, which need no other
    bars = [layout[key]["colorbar"]["title"]["text"] for key in layout if key.startswith("coloraxis")]
    assert all(bars)


@pytest.mark.parametrize("name", EVERY)
def test_light_and_dark_differ_in_colours_alone(name: str) -> None:
    light, dark = (EVERY[name](each).to_dict() for each in (False, True))
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    for key in [key for key in light["layout"] if key.startswith("coloraxis")]:
        assert light["layout"][key].pop("colorscale") != dark["layout"][key].pop("colorscale")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)


def test_labels_that_repeat_or_are_markup_stand_at_integers() -> None:
    axis = figures.patching_map(SQUARE, HOSTILE).layout.xaxis
    assert list(axis.tickvals) == list(range(N))
    assert list(axis.ticktext) == [*ESCAPED, "?"]
    many = figures.patching_map(np.ones((2, 1000)), ["<b>"] * 1000).layout.xaxis
    assert len(many.tickvals) < 80
    assert set(many.ticktext) == {"&lt;b&gt;"}


def test_a_norms_line_is_the_token_chosen_over_all_of_them() -> None:
    every, a, b = figures.residual_norms({"A": NORMS, "B": stream_norms(STREAMS[:3])}, HOSTILE, 1).data
    np.testing.assert_allclose(a.y, NORMS.values[:, 1], rtol=1e-6)
    np.testing.assert_allclose(b.y, NORMS.values[:3, 1], rtol=1e-6)
    assert (a.name, a.line.dash, b.name, b.line.dash) == ("A", "solid", "B", "dash")
    drawn = np.array(every.y, dtype=float).reshape(2 * N, 5)  # a gap behind each
    np.testing.assert_allclose(drawn[:N, :4], NORMS.values.T, rtol=1e-6)
    assert np.isnan(drawn[:, 4]).all()
    assert a.hovertext[0].startswith("after layer embed<br>A: ")
    assert a.hovertext[0].endswith("L2 norm")


def test_attribution_is_strongest_first_each_from_where_the_last_one_ended() -> None:
    figure = figures.attribution(["a", "b", "c", "d"], EFFECTS, most=2)
    bars = figure.data[0]
    assert list(figure.layout.yaxis.ticktext) == ["a", "b", "the other 2", "target − distractor"]
    np.testing.assert_allclose(bars.base, [0, 3, 2, 0])
    np.testing.assert_allclose(bars.x, [3, -1, 0.75, 2.75])
    assert list(bars.text) == ["+3.00", "−1.00", "+0.75", "+2.75"]
    assert list(bars.marker.color) == [colours.BLUE, colours.ORANGE, colours.GREY, colours.GREY]


def test_a_number_beside_a_bar_has_room_on_the_side_where_the_bar_ends() -> None:
    """Of a bar that goes to the left but lies right of zero too: beside it are the rows' labels."""
    figure = figures.attribution(["a", "b"], Measure("direct effect", "logits", ("part",), torch.tensor([-1.0, 3.0])))
    assert figure.data[0].base[1:2] == (3.0,)
    assert list(figure.data[0].x) == [3.0, -1.0, 2.0]
    assert figure.data[-1].x[0] == 0.0  # "−1" ends at 2, far from the labels
    figure = figures.attribution(["a", "b"], Measure("direct effect", "logits", ("part",), torch.tensor([3.0, -2.9])))
    assert figure.data[-1].x[0] == pytest.approx(0.1 - ROOM * 3)
    assert figure.data[-1].x[1] == pytest.approx(3 + ROOM * 3)


def test_small_probabilities_have_ticks_of_their_own() -> None:
    assert figures.next_tokens(["a"], [0.004]).layout.xaxis.tickformat == ".2~%"  # 0.4%, and 40% without digits


def test_a_guess_that_ends_the_text_has_the_name_that_it_has_on_every_page() -> None:
    assert list(figures.next_tokens(["<|endoftext|>", "␣<"], [0.6, 0.4]).layout.yaxis.ticktext) == ["⟨eos⟩", "␣&lt;"]


def test_maps_hold_every_cell_and_leave_out_what_is_not_there() -> None:
    mean, sd = figures.head_statistics(HEADS, HEADS / 2).data
    np.testing.assert_array_equal(np.array(mean.z, float), HEADS)
    np.testing.assert_array_equal(np.array(sd.z, float), HEADS / 2)
    assert mean.hovertext[0][2] == "layer L0<br>head H2<br>none"


def test_prompts_are_counted_in_whole_numbers_and_heads_have_their_deviation() -> None:
    counted, heads = figures.prompt_statistics(HEADS.ravel(), HEADS, HEADS / 4, head="L0H1", title="Entropy").data
    assert sorted(counted.x) == [0.1, 0.4, 0.5, 0.6, 0.9]  # one is not known
    np.testing.assert_array_equal(np.array(heads.y, float), HEADS.ravel())
    np.testing.assert_allclose(np.array(heads.error_y.array, float), HEADS.ravel() / 4)
    np.testing.assert_allclose(np.array(heads.error_y.arrayminus, float), HEADS.ravel() / 4)
    of_one = figures.prompt_statistics(HEADS[0, :1], HEADS, HEADS * np.nan, head="L0H1")
    assert [trace.type for trace in of_one.data] == ["scatter"]  # one prompt is no distribution


def test_what_was_written_stands_at_its_step() -> None:
    likely, undecided = figures.generated(SQUARE[1], SQUARE[2], HOSTILE).data
    np.testing.assert_array_equal(likely.y, SQUARE[1])
    np.testing.assert_array_equal(undecided.y, SQUARE[2])
    assert likely.hovertext[4].startswith("step 5  the<br>")
    assert undecided.hovertext[4].endswith(" nats")


def test_a_written_end_is_named_by_its_sign() -> None:
    ticks = figures.generated(np.ones(2), np.ones(2), (" key", "<|endoftext|>")).layout.xaxis.ticktext
    assert ticks == ("1   key", "2  ⟨eos⟩")


def test_a_signed_map_is_as_far_from_zero_both_ways() -> None:
    axis = figures.patching_map(np.array([[-3.0, 1.0]]), ["a", "b"]).layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-3, 3)


def test_the_intervals_of_heads_reach_their_ends() -> None:
    (points,) = figures.head_scatter(HEADS, HEADS - 0.1, HEADS + 0.2).data
    np.testing.assert_allclose(np.array(points.error_y.array, float)[:2], 0.2)
    np.testing.assert_allclose(np.array(points.error_y.arrayminus, float)[:2], 0.1)
    assert [round(x) for x in points.x] == [0, 0, 0, 1, 1, 1]  # above the layer's tick


def test_heads_of_one_result_have_a_map_each() -> None:
    pattern = Measure("pattern", "probability", ("head", "query", "key"), torch.rand(5, 2, 3))
    figure = figures.attention(pattern, ["a", "b"], ["x", "y", "z"])
    assert len(figure.data) == 5
    np.testing.assert_allclose(figure.data[4].z, pattern.values[4], rtol=1e-6)


def test_a_minus_is_a_minus_sign_and_a_probability_a_percentage() -> None:
    assert text.quantity(-1.23456, "nats") == "−1.235 nats"
    assert text.quantity(0.1234, "probability") == "12.34%"


def test_the_template_has_the_pages_own_colours() -> None:
    worn = theme.options()
    for name, dark in (("light", False), ("dark", True)):
        layout = TEMPLATES[dark]["layout"]
        assert layout["paper_bgcolor"] == worn[f"theme.{name}.backgroundColor"]
        assert layout["font"]["color"] == worn[f"theme.{name}.textColor"]
        assert layout["font"]["family"] == worn["theme.font"]
        go.layout.Template(TEMPLATES[dark])  # nothing in it that Plotly does not know


def test_figures_come_without_the_page_and_plotly_with_the_first_of_them() -> None:
    code = "import sys, headlight.app.figures as f; print(*sys.modules); f.next_tokens(['a'], [1]); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    before, after = (set(line.split()) for line in run.stdout.splitlines())
    assert not {"streamlit", "torch", "plotly", "headlight.model"} & before
    assert "plotly" in after
    assert "streamlit" not in after


def test_a_file_of_a_figure_names_no_server(tmp_path: Path) -> None:
    written = figures.next_tokens(HOSTILE, SQUARE[0]).to_html(include_plotlyjs=False, config=dict(figures.CONFIG))
    assert "http" not in written.replace("&lt;", "")
    assert "<script src" not in written


def test_counted_places_are_named_as_the_window_has_room() -> None:
    """Tokens have the names that they are given; 64 numbers or layers would stand over one another on a phone."""
    for before, labels in (("", range(64)), ("L", range(64)), (None, "a" * 64)):
        drawn = figure(
            [[Plot("", Axis("distance", [f"{before or ''}{label}" for label in labels]), Axis("score"), [])]]
        )
        assert drawn.layout.xaxis.range == (-0.5, 63.5)
        assert drawn.layout.xaxis.tickprefix == before
        assert (drawn.layout.xaxis.ticktext is None) == (before is not None)


def test_many_layers_behind_the_embedding_are_named_where_a_phone_has_room() -> None:
    """One and thirty names would stand over one another: the first and every fifth layer are named."""
    plot = Plot("", Axis("after layer", ["embed", *(f"L{layer}" for layer in range(30))]), Axis("share"), [])
    axis = figure([[plot]]).layout.xaxis
    assert axis.ticktext == ("embed", "L5", "L10", "L15", "L20", "L25")
    assert axis.tickvals == (0, 6, 11, 16, 21, 26)


def test_a_long_title_has_lines_of_a_phones_width_and_room_for_them() -> None:
    long = "L26H0 over the rows: <b>direct</b> effect on the logit difference"
    short, wrapped = (figure([[Plot(title, Axis("logits"), Axis(""), [])]]).layout for title in ("Effect", long))
    assert short.annotations[0].text == "Effect"
    lines = wrapped.annotations[0].text.split("<br>")
    assert html.unescape(" ".join(lines)) == long
    assert all(len(html.unescape(line)) <= LONGEST_TITLE for line in lines)
    assert wrapped.height - short.height == TITLE_LINE * (len(lines) - 1) > 0


def test_a_long_name_of_an_axis_has_two_lines_and_room_for_them() -> None:
    drawn = [
        figure([[Plot("", Axis(name), Axis(""), [])]]).layout
        for name in ("logits", "direct effect on target − distractor (logits)")
    ]
    assert drawn[1].xaxis.title.text == "direct effect on target −<br>distractor (logits)"
    assert drawn[1].height - drawn[0].height == TITLE_LINE


def test_a_legend_over_long_names_of_rows_has_the_lines_of_a_phone() -> None:
    traces = [{"type": "bar", "name": name, "x": [1.0], "y": [0]} for name in ("direct", "total, measured")]
    heights = [
        figure([[Plot("", Axis("logits"), Axis("", [label], down=True), traces)]]).layout.height
        for label in ("edge cut", "edge cut, row renormalised")
    ]
    assert heights[1] - heights[0] == TITLE_LINE


def test_a_legend_of_many_lines_on_a_phone_has_their_room() -> None:
    """Where a plot has a row for itself, which is as wide as the page; the title would lie under the legend."""
    names = [f"{lens} lens, {side}" for lens in ("logit", "tuned", "Jacobian") for side in "AB"]
    heights = [
        figure([[Plot("KL", Axis("layer"), Axis("nats"), [{"type": "scatter", "name": name} for name in some])]])
        for some in (names[:1], names)
    ]
    assert heights[1].layout.height - heights[0].layout.height == 2 * TITLE_LINE


@pytest.mark.parametrize(
    ("numbered", "named"),
    [
        ("0 <|im_start|>", "0 ⟨im_start⟩"),
        ("0 <|endoftext|>", "0 ⟨bos⟩"),
        ("7 <|endoftext|>", "7 ⟨eos⟩"),
        ("3 ␣Mary", "3 ␣Mary"),
        ("L12", "L12"),
        ("12", "12"),
    ],
)
def test_a_token_behind_its_place_is_named_as_elsewhere(numbered: str, named: str) -> None:
    assert text.named_place(numbered) == named
