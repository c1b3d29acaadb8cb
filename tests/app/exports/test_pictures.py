"""Pictures: what they hold, that no token is read as markup, and that their colours are the page's."""

import base64
import gzip
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.text import Text
from playwright.sync_api import Browser

from headlight.app.components import (
    CellAxis,
    CellMap,
    FlowGraph,
    GraphNode,
    HeadSteps,
    TokenBars,
    TokenChoice,
    WritingStep,
)
from headlight.app.components.shared.mount import SHARED, scripts
from headlight.app.exports import style
from headlight.app.exports.drawings import TextLines
from headlight.app.exports.export import Export
from headlight.app.exports.pictures import alone as alone_in_picture
from headlight.app.exports.pictures.fitting import WIDTHS, fit
from headlight.app.exports.pictures.slide import slide
from headlight.app.exports.pictures.steps import columns, size
from headlight.app.exports.style import DARK, LIGHT, Palette, colour_map
from headlight.app.figures.colours import ON_DARK, ON_LIGHT
from headlight.app.figures.corpus import steps
from headlight.app.figures.graph import Mark, Scene, graph
from headlight.app.figures.text import token_name
from headlight.app.pages.attention import EXPORT as ATTENTION
from headlight.app.pages.flow import EXPORT as FLOW
from headlight.app.pages.generate import EXPORT as GENERATE
from headlight.app.pages.inside import EXPORT as INSIDE
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.mlp import EXPORT as MLP
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.pages.why import EXPORT as WHY
from headlight.app.parts import detection
from headlight.app.server.theme import options
from headlight.model.base.source import Source
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import attend
from tests.app.exports.hostile import LISTED, OTHER, PROMPTS, chosen, listing

PNG = b"\x89PNG\r\n\x1a\n"


def texts(svg: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("export", [ATTENTION, RESIDUAL, LENS])
def test_tokens_stay_text(export: Export, alone: Comparison, folder: str) -> None:
    """Dollars are no mathematics, angle brackets no markup, and every character has some sign: warnings are errors."""
    near_the_beginning = chosen(folder, layer=1, position=3)
    svg = style.file(lambda: export.picture(alone, near_the_beginning, LIGHT), LIGHT, "svg")
    assert {"$", "␣two", "␣<", "</", "<U+0000>"} <= set(texts(svg))
    assert not re.findall(rb"""(?:href|src)=["'](?!#|data:)""", svg)
    assert b"@import" not in svg


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, RESIDUAL, LENS, FLOW, GENERATE, PROMPTS])
def test_a_comparison_is_drawn_dark_as_pixels(
    export: Export, two: Comparison, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "DPI", 50)  # quick to draw
    png = style.file(lambda: export.picture(two, chosen(folder, prompt_b=OTHER), DARK), DARK, "png")
    assert png.startswith(PNG)


@pytest.mark.parametrize(
    ("export", "inches"),
    [(ATTENTION, WIDTHS["column"]), (RESIDUAL, WIDTHS["column"]), (WHY, WIDTHS["column"]), (LENS, WIDTHS["page"])],
)
def test_a_picture_for_a_papers_column_is_as_wide_and_readable(
    export: Export, inches: float, alone: Comparison, folder: str
) -> None:
    def draw() -> Figure:
        figure = export.picture(alone, chosen(folder), LIGHT, inches)
        figure.draw_without_rendering()
        for text in figure.findobj(Text):
            if text.get_text() and text.get_visible() and not text.get_clip_on():
                box = text.get_window_extent()
                assert box.x1 <= figure.bbox.width + 1, text
                assert box.x0 >= -1, text
        return figure

    svg = ElementTree.fromstring(style.file(draw, LIGHT, "svg"))
    assert float(svg.attrib["width"].removesuffix("pt")) == pytest.approx(72 * inches)
    looks = [text.attrib["style"] for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    sizes = [float(size) for look in looks for size in re.findall(r"([\d.]+)px", look)]
    assert len(sizes) == len(looks)
    assert min(sizes) >= 6


def test_words_with_lines_stand_beside_each_other_in_a_narrow_column(alone: Comparison, folder: str) -> None:
    def draw() -> Figure:
        figure = ATTENTION.picture(alone, chosen(folder), LIGHT, WIDTHS["column"])
        figure.draw_without_rendering()
        words = next(axes for axes in figure.axes if not axes.images).texts[: len(alone.a.tokens)]
        lines: dict[float, list[Text]] = {}
        for word in words:
            lines.setdefault(word.get_position()[1], []).append(word)
        assert len(lines) > 1
        for line in lines.values():
            boxes = [word.get_window_extent() for word in line]
            assert all(one.x1 <= other.x0 + 2 for one, other in pairwise(boxes))
        return figure

    style.file(draw, LIGHT, "svg")


def test_tokens_of_one_word_stand_closer_than_words() -> None:
    weights = np.full(5, 0.2)

    def draw() -> Figure:
        figure = alone_in_picture(TextLines(["⟨bos⟩", "The", " qu", "ick", " fox"], weights, 4), LIGHT)
        figure.draw_without_rendering()
        words = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
        bos, the, qu, ick, fox = (words[word] for word in ("⟨bos⟩", "The", "qu", "ick", "fox"))
        word = qu.width / 2  # about a character
        assert bos.x1 + word / 2 < the.x0
        assert 0 <= ick.x0 - qu.x1 < word
        assert word / 2 < fox.x0 - ick.x1 == pytest.approx(qu.x0 - the.x1, abs=2)
        return figure

    style.file(draw, LIGHT, "svg")


def test_words_are_cut_to_their_cells_and_numbers_are_not() -> None:
    figure = Figure(figsize=(3, 1))
    axes = figure.subplots()
    axes.imshow(np.zeros((1, 6)), aspect="auto")
    words = [axes.text(place, 0, "understanding", ha="center", clip_on=True) for place in range(6)]
    fit(figure)
    spans = [word.get_window_extent() for word in words]
    assert all(word.get_visible() and re.fullmatch("unde?r?…|un…", word.get_text()) for word in words)
    assert all(one.x1 <= other.x0 for one, other in pairwise(spans))
    axes.texts[0].set(text="0.123456789", clip_on=False)
    fit(figure)
    assert not words[0].get_visible()


def test_a_probability_has_no_axis_beyond_one(alone: Comparison, folder: str) -> None:
    figure = LENS.picture(alone, chosen(folder), LIGHT)
    named = [axes for axes in figure.axes if axes.get_xlabel() == "probability"]
    assert named
    assert all(axes.get_xlim()[1] <= 1 for axes in named)


def test_a_png_for_a_paper_has_300_dots_an_inch(alone: Comparison, folder: str) -> None:
    inches = WIDTHS["column"]
    png = style.file(lambda: LENS.picture(alone, chosen(folder), LIGHT, inches), LIGHT, "png", style.PAPER_DPI)
    assert int.from_bytes(png[16:20], "big") == 300 * inches


def test_the_same_picture_has_the_same_bytes(alone: Comparison, folder: str) -> None:
    made = [style.file(lambda: RESIDUAL.picture(alone, chosen(folder), LIGHT), LIGHT, "svg") for _ in range(2)]
    assert made[0] == made[1]


def test_every_character_has_a_sign() -> None:
    """Runes, Hebrew, an emoji, and a character of no font."""

    def draw() -> Figure:
        figure = Figure()
        figure.text(0, 0, "ᚠ שלום 😀 $x^{ \U00012000")
        return figure

    assert style.file(draw, LIGHT, "png").startswith(PNG)


def test_panels_hold_the_heads_patterns(alone: Comparison, folder: str) -> None:
    figure = ATTENTION.picture(alone, chosen(folder), LIGHT)
    panels = [axes for axes in figure.axes if axes.get_title(loc="left") or axes.get_title()]
    for axes, (layer, head) in zip(panels, ((1, 2), (0, 4)), strict=True):
        cells = axes.images[0].get_array()
        pattern = np.tril(attend(alone.a, layer, head).pattern.numpy())
        np.testing.assert_array_equal(np.ma.filled(cells, 0), pattern)


def test_a_row_of_patterns_names_its_axes_once(alone: Comparison, two: Comparison, folder: str) -> None:
    sides = chosen(folder, prompt_b=OTHER)
    for comparison, selection, n_maps in ((alone, chosen(folder), 2), (two, sides, 6)):
        figure = ATTENTION.picture(comparison, selection, LIGHT)
        maps = [axes for axes in figure.axes if axes.images]
        named = [(axes.get_ylabel().strip(), axes.get_xlabel().strip()) for axes in maps]
        across = 2 if comparison is alone else 3
        assert named == ([("from (query)", "to (key)")] + [("", "")] * (across - 1)) * (n_maps // across)
        figure.draw_without_rendering()
        widths = [axes.get_window_extent().width for axes in maps[:across]]
        assert max(widths) < 1.01 * min(widths)  # those without names have their room


def test_a_comparison_of_streams_leaves_no_row_half_empty(two: Comparison, folder: str) -> None:
    figure = RESIDUAL.picture(two, chosen(folder, prompt_b=OTHER), LIGHT)
    assert [sum(bool(part.axes or part.subfigs) for part in band.subfigs) for band in figure.subfigs] == [3] * 4


def test_a_legend_stands_below_its_title(two: Comparison, folder: str) -> None:
    figure = RESIDUAL.picture(two, chosen(folder, prompt_b=OTHER), LIGHT)
    figure.draw_without_rendering()
    drawn = [(axes, legend) for axes in figure.axes if (legend := axes.get_legend())]
    assert max(len(legend.get_texts()) for _, legend in drawn) > 4  # in two lines
    for axes, legend in drawn:
        title = axes._left_title.get_window_extent()  # type: ignore[attr-defined]  # it has no public name
        assert title.y0 >= max(text.get_window_extent().y1 for text in legend.get_texts())


def test_numbers_of_a_colour_bar_do_not_touch_and_name_its_ends() -> None:
    places = CellAxis("query", [*"abc"])
    drawn = CellMap(np.eye(3), places, CellAxis("key", [*"abc"]), title="weight", scale="sqrt", ends=(0.0, 1.0))

    def draw() -> Figure:
        figure = alone_in_picture(drawn, LIGHT)
        figure.draw_without_rendering()
        (bar,) = (axes for axes in figure.axes if axes.get_label() == "<colorbar>")
        labels = bar.get_xticklabels()
        assert (labels[0].get_text(), labels[-1].get_text()) == ("0", "1")
        assert len(labels) > 2
        boxes = [label.get_window_extent() for label in labels]
        assert all(one.x1 + 5 < other.x0 for one, other in pairwise(boxes))  # pixels of a hundredth of an inch
        return figure

    style.file(draw, LIGHT, "svg")


def test_thousands_are_counted() -> None:
    at = np.array([100.0, 1000.0, 20000.0])
    drawn = steps({"L1H1": (at, 50 * at, 50 * at, 50 * at)}, title="Induction", unit="")

    def draw() -> Figure:
        figure = alone_in_picture(drawn, LIGHT)
        figure.draw_without_rendering()
        (axes,) = figure.axes
        assert {"1,000", "10,000"} <= {label.get_text() for label in axes.get_xticklabels()}
        assert "200,000" in {label.get_text() for label in axes.get_yticklabels()}
        return figure

    style.file(draw, LIGHT, "svg")


def test_a_graph_is_as_wide_as_its_names_are_laid_out_for() -> None:
    """Of 24 columns all but the last have their token alone, and are narrow; the names of a row's marks are beside."""
    words = [f"␣word{place}" for place in range(24)]
    tokens = [Mark("token", place, 0, 0.5, 1, [word]) for place, word in enumerate(words)]
    features = [Mark("feature", 23, 1, 0.5, 1, [""], label=f"L2 feature {800 + place}") for place in range(3)]
    scene = Scene([*tokens, *features], [], [], None, words, ["tokens", "L2 MLP"], "token", "")

    def draw() -> Figure:
        figure = alone_in_picture(graph(scene), LIGHT)
        figure.draw_without_rendering()
        (axes,) = figure.axes
        for texts in (axes.get_xticklabels(), axes.texts):
            boxes = sorted((text.get_window_extent().extents for text in texts), key=lambda box: float(box[0]))
            assert len(boxes) > 1
            assert all(one[2] < other[0] for one, other in pairwise(boxes))
        return figure

    style.file(draw, LIGHT, "svg")


def test_parts_have_letters_where_there_are_several(alone: Comparison, folder: str) -> None:
    figure = ATTENTION.picture(alone, chosen(folder), LIGHT)
    bands = [part for band in figure.subfigs for part in band.subfigs]
    named = [part.get_suptitle() for part in bands if part.axes]
    assert named == [*"abc"]  # the text and two heads
    flow = FLOW.picture(alone, chosen(folder), LIGHT)
    assert [part.get_suptitle() for band in flow.subfigs for part in band.subfigs] == [""]  # it is alone


def test_below_stand_the_model_and_the_texts_once(two: Comparison, alone: Comparison, folder: str) -> None:
    def below(comparison: Comparison, **fields: object) -> str:
        return " ".join(ATTENTION.picture(comparison, chosen(folder, **fields), LIGHT).get_supxlabel().split())

    both = below(two, prompt_b=OTHER)
    assert both.startswith(f"{two.a.source.short_name} (sha256 {two.a.source.sha256[:12]}…)")
    assert "A: “one two $x$" in both
    assert f"B: “{OTHER}”" in both
    edited = below(Comparison(alone.a, alone.a))
    assert edited.count("“one two") == 1
    assert "A: " not in edited


def test_a_colour_bar_is_slim_and_begins_with_its_axes(alone: Comparison, folder: str) -> None:
    figure = ATTENTION.picture(alone, chosen(folder), LIGHT)
    figure.draw_without_rendering()
    panels = [axes.get_window_extent() for axes in figure.axes if axes.images]
    bars = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    assert len(bars) == len(panels) > 1
    for panel, bar in zip(panels, (axes.get_window_extent() for axes in bars), strict=True):
        assert bar.height / figure.dpi * 72 == pytest.approx(5, abs=1.5)
        assert bar.x0 == pytest.approx(panel.x0, abs=2)
        assert bar.width < 0.9 * panel.width
    shown = ["".join(label.get_text() for label in bar.get_xticklabels()).strip() for bar in bars]
    assert [bool(text) for text in shown] == [True] + [False] * (len(bars) - 1)  # both heads have its colours
    for panel in panels:  # those with a bar and those without are as large
        assert (panel.y0, panel.height) == pytest.approx((panels[0].y0, panels[0].height), abs=2)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_numbers_are_readable_on_the_strongest_colours(alone: Comparison, folder: str, palette: Palette) -> None:
    """The cosine of a layer with itself is the map's far end: dark in the light theme, light in the dark one."""
    figure = RESIDUAL.picture(alone, chosen(folder), palette)
    (axes,) = (axes for axes in figure.axes if axes.get_xlabel() == "and after")
    inks = {text.get_text(): text.get_color() for text in axes.texts}
    assert inks["1.00"] == (ON_DARK if palette is LIGHT else ON_LIGHT)


def test_steps_name_special_tokens_as_the_page_does(alone: Comparison, folder: str) -> None:
    figure = INSIDE.picture(alone, chosen(folder, queries=(3,)), LIGHT)
    named = {label.get_text() for axes in figure.axes for label in axes.get_xticklabels()}
    assert alone.a.labels[0] not in named
    assert token_name(alone.a.labels[0], 0) in named


def test_tokens_of_a_flow_have_their_names_where_some_are_narrow() -> None:
    nodes = [GraphNode(0, place, 1.0) for place in (0, 3, 5)]
    drawn = FlowGraph(nodes, [], labels=[*"abcdef"], states=["embed", "L0"], threshold=0.04)

    def draw() -> Figure:
        figure = alone_in_picture(drawn, LIGHT)
        figure.draw_without_rendering()
        labels = figure.axes[0].get_xticklabels()
        assert [label.get_text() for label in labels] == [*"abcdef"]
        assert len({round(two - one, 3) for one, two in pairwise(label.get_position()[0] for label in labels)}) > 1
        return figure

    style.file(draw, LIGHT, "svg")


@pytest.mark.parametrize("export", [INSIDE, RESIDUAL, MLP])
def test_titles_name_special_tokens_as_the_page_does(export: Export, alone: Comparison, folder: str) -> None:
    figure = export.picture(alone, chosen(folder, queries=(0,), position=0), LIGHT)
    written = [text.get_text() for text in figure.findobj(Text)]
    assert any(f"at {token_name(alone.a.labels[0], 0)}" in text for text in written)
    assert not any(alone.a.labels[0] in text for text in written)


def test_a_step_names_special_tokens_that_may_follow() -> None:
    choices = [TokenChoice(0, "<|endoftext|>", 1, 0.5, 0.5), TokenChoice(1, "a", 2, 0.5, 0.0)]
    step = WritingStep(0, "<|endoftext|>", False, -0.7, (0.7, 0.7), choices)
    figure = alone_in_picture(TokenBars(["a"], [step], [0], 0), LIGHT)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["◆ ⟨eos⟩", "a (cut)"]
    assert "of 1: ⟨eos⟩" in axes.get_title(loc="left") + axes.get_title()


def test_below_stand_the_roles_of_heads_as_far_as_they_are_known(
    alone: Comparison, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detection, "supported_labels", lambda *_: {(1, 2): ("induction", "previous_token"), (1, 1): ()})
    below = " ".join(ATTENTION.picture(alone, chosen(folder), LIGHT).get_supxlabel().split())
    assert below.endswith("L1H2: induction and previous token")


def test_lines_over_the_text_are_as_wide_as_the_attention(alone: Comparison, folder: str) -> None:
    figure = ATTENTION.picture(alone, chosen(folder, queries=(30,)), LIGHT)
    text = next(axes for axes in figure.axes if not axes.images)
    assert text.texts[0].get_text() == token_name(alone.a.labels[0], 0)  # as the page calls a special token
    lines = [patch for patch in text.patches if isinstance(patch, PathPatch)]
    weights = attend(alone.a, 1, 2).pattern[30, :30].numpy()  # of the first chosen head; to itself there is no line
    np.testing.assert_allclose(
        [(line.get_linewidth() - 0.6) / 4.4 for line in lines],
        weights[weights >= 0.02],
        rtol=1e-4,  # weights are sent to the browser with five digits
    )
    assert len(lines) >= 2


@pytest.mark.parametrize("export", [ATTENTION, LENS, WHY])
def test_what_is_copied_says_the_finding_on_1600_by_900(export: Export, alone: Comparison, folder: str) -> None:
    drawings = export.drawings(alone, chosen(folder))
    figure = slide(drawings, LIGHT)
    assert figure.get_size_inches().tolist() == [16, 9]
    assert drawings.finding
    assert {drawings.finding, alone.a.source.short_name, "Headlight"} == {text.get_text() for text in figure.texts}
    drawn = figure.images[0].get_array()
    assert drawn is not None
    high, wide = drawn.shape[:2]
    assert max(wide / 3200, high / 1800) > 0.6  # as large as it fits
    assert wide < 3200
    assert high < 1800


def test_what_is_copied_of_steps_fills_the_picture(alone: Comparison, two: Comparison, folder: str) -> None:
    """One head's steps stand in columns; those of A, B and B − A are the query's own, one column a side."""
    for comparison, selection in ((alone, chosen(folder)), (two, chosen(folder, prompt_b=OTHER))):
        drawn = slide(INSIDE.drawings(comparison, selection), LIGHT).images[0].get_array()
        assert drawn is not None
        inked = np.flatnonzero((drawn != drawn[0, 0]).any(-1).any(0))
        assert inked.min() < 100
        assert inked.max() > 2800  # of 3200


def test_steps_in_columns_are_all_there_in_their_order(alone: Comparison, folder: str) -> None:
    (drawn,) = (
        one
        for row in INSIDE.drawings(alone, chosen(folder)).rows
        for drawing in row
        for one in drawing.for_paper
        if isinstance(one, HeadSteps)
    )
    for n_columns in (1, 2, 3):
        parts = columns(drawn, n_columns)
        assert len(parts) == n_columns
        assert [step.title for part in parts for step in part.steps] == [step.title for step in drawn.steps]
        heights = [size(part)[1] for part in parts]
        assert max(heights) - min(heights) <= 2 * 1.7  # a matrix of tokens more or less


def test_maps_hold_mean_and_deviation(alone: Comparison, folder: str) -> None:
    selection = chosen(folder)
    arrays = PROMPTS.data(alone, selection).arrays
    maps = [axes.images[0].get_array() for axes in PROMPTS.picture(alone, selection, LIGHT).axes if axes.images]
    for cells, name in zip(maps, ("mean", "standard deviation"), strict=True):
        np.testing.assert_array_equal(np.ma.filled(cells, np.nan), arrays[name].values)
    svg = style.file(lambda: PROMPTS.picture(alone, selection, LIGHT), LIGHT, "svg")
    written = " ".join(texts(svg))  # a long title may take two lines
    assert all(text in written for text in ("L2", "H4", "mean (probability)", "standard deviation (probability)"))


def test_one_prompt_has_no_deviation_to_draw(alone: Comparison, folder: str) -> None:
    """Nor has it a statistic where no token is repeated: both maps are empty."""
    drawn = listing(LISTED[:1]).picture(alone, chosen(folder, statistic="first_token"), LIGHT)
    mean, sd = (axes.images[0].get_array() for axes in drawn.axes if axes.images)
    assert not np.ma.is_masked(mean)
    assert sd.mask.all()


def test_one_scale_for_all_heads_or_one_for_each(two: Comparison, folder: str) -> None:
    def limits(own_scale: bool) -> set[float]:
        selection = chosen(folder, prompt_b=OTHER, show="score", own_scale=own_scale)
        drawn = [axes.images[0] for axes in ATTENTION.picture(two, selection, LIGHT).axes if axes.images]
        assert all(image.norm.vmin == -image.norm.vmax for image in drawn)
        return {image.norm.vmax for image in drawn}

    assert len(limits(False)) == 2  # of A and B, and of B - A
    assert len(limits(True)) == 6


@pytest.mark.parametrize(("palette", "theme"), [(LIGHT, "light"), (DARK, "dark")])
def test_colours_are_the_pages_own(palette: Palette, theme: str, browser: Browser) -> None:
    configured = {name.rpartition(".")[2]: value for name, value in options().items() if f".{theme}." in name}
    assert (palette.background, palette.text) == (configured["backgroundColor"], configured["textColor"])
    page = browser.new_page()
    page.add_script_tag(content=scripts(SHARED))
    background = [int(palette.background[place : place + 2], 16) for place in (1, 3, 5)]
    maps = page.evaluate("background => [colourMap(background), divergingMap(background)]", background)
    page.close()
    for signed, colours in zip((False, True), maps, strict=True):
        shares = np.linspace(0, 1, len(colours))
        ours = np.rint(255 * colour_map(palette, signed)(shares)[:, :3])
        # Straight lines between 17 colours, and a diverging map whose middle two are one: within 6 of 255.
        assert np.abs(ours - np.array(colours)).max() <= 6


def test_neither_the_picture_nor_the_page_says_where_on_this_machine_a_model_lies(
    alone: Comparison, folder: str
) -> None:
    """A typed path is the user's own to know; the script needs it."""
    parent, name = folder.rsplit("/", 1)
    svg = style.file(lambda: ATTENTION.picture(alone, chosen(folder), LIGHT), LIGHT, "svg")
    assert f"{name} (sha256" in "".join(texts(svg))
    page = ATTENTION.page(alone, chosen(folder)).decode()
    assert f"<title>Attention of {name}</title>" in page
    (data,) = re.findall(r'id="data">([^<]+)<', page)
    assert parent.encode() not in svg + page.encode() + gzip.decompress(base64.b64decode(data))
    assert folder in ATTENTION.script(alone, chosen(folder))


@pytest.mark.parametrize(
    ("name", "revision", "called"),
    [
        ("mini", None, "mini"),
        ("/srv/models/gpt2-shaped", None, "gpt2-shaped"),
        ("~/models/gpt2-shaped/", None, "gpt2-shaped"),
        ("/srv/gpt2-shaped/model.safetensors", None, "gpt2-shaped/model.safetensors"),
        ("openai-community/gpt2", "0" * 40, "openai-community/gpt2"),
    ],
)
def test_a_model_is_called_by_its_folder(name: str, revision: str | None, called: str) -> None:
    assert Source(name, Path(name), "gpt2", (), revision).short_name == called
