"""The scripts' own arithmetic in a browser without Streamlit, against the Python side of the same formats."""

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from headlight.app import components
from headlight.app.components import HeadPanel, encode_weights
from headlight.app.components.heads import panel_arrays, panel_props
from headlight.app.components.shared import mount
from headlight.app.components.shared.packing import pack
from headlight.app.figures.text import token_name
from headlight.app.runs import thumbnails
from headlight.model.attention import fields
from headlight.model.attention.fields import Show, Sink
from tests.app.components import compared, crossed

SHARED = Path(components.__file__).parent / "shared"
LIGHT, DARK = [255, 255, 255], [14, 17, 23]


@pytest.fixture(scope="module")
def scripts(browser: Browser) -> Iterator[Page]:
    """An empty page with the shared scripts as its globals."""
    page = browser.new_page()
    page.add_script_tag(content=mount.scripts(SHARED))
    yield page
    page.close()


def test_the_browser_reads_what_python_packs(scripts: Page) -> None:
    """Sizes that leave the second and third array off their alignment."""
    arrays = {
        "codes": np.arange(5, dtype=np.uint8),
        "codes of two bytes": np.array([[1, 65535]], np.uint16),
        "measure": np.array([-0.5, 1e-7], np.float32),
        "top": np.array([[[-3]]], np.int32),
    }
    data = pack({"labels": ["·the", "\ud800"], "key": "k"}, arrays)
    script = """text => {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const { header, start } = unpackHeader(bytes);
      const arrays = unpackArrays(bytes, header, start);
      return [header, Object.entries(arrays).map(([name, { values, shape }]) => [name, Array.from(values), shape])];
    }"""
    header, unpacked = scripts.evaluate(script, base64.b64encode(data).decode())
    assert header["key"] == "k"
    assert header["labels"][0] == "·the"
    for (name, values, shape), (packed_name, array) in zip(unpacked, arrays.items(), strict=True):
        assert (name, tuple(shape)) == (packed_name, array.shape)
        np.testing.assert_array_equal(np.array(values, array.dtype), array.ravel())


TOKEN_NAMES = {
    ("<|endoftext|>", 0): "⟨bos⟩",
    ("<|endoftext|>", 3): "⟨eos⟩",
    ("<|im_start|>", 0): "⟨im_start⟩",
    ("<s>", 4): "⟨bos⟩",
    ("</s>", 0): "⟨eos⟩",
    ("<end_of_turn>", 1): "⟨end_of_turn⟩",
    ("<|begin_of_text|>", 0): "⟨bos⟩",
    ("<|end_of_text|>", 9): "⟨eos⟩",
    ("[CLS]", 0): "⟨cls⟩",
    ("[INST]", 2): "⟨inst⟩",
    **{(text, 0): text for text in ("<div>", "[INSTR]", "[A]", "␣<s>", "<s>\n", "<|ä|>", "<|a b|>", "⟨bos⟩", "")},
}


def test_pages_and_figures_name_special_tokens_alike(scripts: Page) -> None:
    assert {case: token_name(*case) for case in TOKEN_NAMES} == TOKEN_NAMES
    in_browser = scripts.evaluate(
        "cases => cases.map((case_) => shortLabel(...case_))", [list(case) for case in TOKEN_NAMES]
    )
    assert in_browser == list(TOKEN_NAMES.values())


@pytest.mark.parametrize("n_keys", [11, 16, 43])
@pytest.mark.parametrize("masks", ["here and there", "causal"])
def test_the_browser_reads_the_weights_that_python_sent(scripts: Page, n_keys: int, masks: str) -> None:
    """A row's bits fill its bytes or do not, and are masked in runs of any length; -2 is masked, -1 absent."""
    random = np.random.default_rng(0)
    cells = random.random((n_keys, n_keys)).astype(np.float32)
    cells[3] = -1
    causal = np.triu(np.ones_like(cells, bool), 1)
    cells[causal if masks == "causal" else random.random(cells.shape) < np.linspace(0, 1, n_keys)] = np.nan
    sent = encode_weights(cells)
    script = """([visible, masked, size]) =>
      Array.from(allCells(Float32Array.from(visible), Uint8Array.from(masked), size, size))"""
    read = scripts.evaluate(script, [sent.visible.tolist(), sent.masked.ravel().tolist(), n_keys])
    np.testing.assert_array_equal(np.array(read, np.float32).reshape(cells.shape), np.nan_to_num(cells, nan=-2))


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_colour_map_starts_at_the_background_and_takes_even_steps(scripts: Page, background: list[int]) -> None:
    """Eight colours at a time: one step is about 0.005 in OKLab, and rounding to bytes moves a colour by 0.003."""
    script = "background => [colourMap(background), colourMap(background).map(oklabFromRgb)]"
    colours, lab = scripts.evaluate(script, background)
    assert colours[0] == background
    changes = np.diff(np.array(lab)[::8], axis=0)
    assert (np.sign(changes[:, 0]) == (-1 if background == LIGHT else 1)).all()
    steps = np.linalg.norm(changes, axis=1)
    assert steps.max() / steps.min() < 1.5


# What the three kinds of colour blindness see, in linear RGB.
# Source: Machado, Oliveira and Fernandes 2009, doi:10.1109/TVCG.2009.113, table 1 at severity 1.
COLOUR_BLIND = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def seen(colours: np.ndarray, vision: str) -> np.ndarray:
    """RGB bytes as a reader with that vision sees them."""
    share = colours / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    mixed = np.clip(linear @ np.transpose(COLOUR_BLIND[vision]), 0, 1)
    return 255 * np.where(mixed <= 0.0031308, 12.92 * mixed, 1.055 * mixed ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_diverging_map_is_even_symmetric_and_safe_for_all_colour_vision(scripts: Page, background: list[int]) -> None:
    """Blue and orange of one size are equally light, and apart by more than any of their neighbours in all eyes."""
    colours = np.array(scripts.evaluate("divergingMap", background))
    assert colours.shape == (256, 3)
    assert colours[127].tolist() == colours[128].tolist() == background
    for vision in COLOUR_BLIND:
        lab = np.array(scripts.evaluate("list => list.map(oklabFromRgb)", seen(colours, vision).tolist()))
        less, more = lab[127::-8], lab[128::8]
        steps = [np.linalg.norm(np.diff(arm, axis=0), axis=1) for arm in (less, more)]
        for arm, step in zip((less, more), steps, strict=True):
            assert (np.sign(np.diff(arm[:, 0])) == (-1 if background == LIGHT else 1)).all(), vision
            if vision == "none":
                assert step.max() / step.min() < 1.25  # one byte moves a colour by up to 0.003, a step is 0.04
        apart = np.linalg.norm(less - more, axis=1)
        assert (apart[2:] > np.maximum(*steps).max()).all(), vision
        if vision == "none":
            np.testing.assert_allclose(less[:, 0], more[:, 0], atol=0.01)  # rounding, and arms that differ by a hair


def painted(scripts: Page, codes: np.ndarray, size: int) -> np.ndarray:
    """The codes drawn `size` pixels wide: white where masked, else the code as grey."""
    script = """([codes, rows, columns, size]) => {
      const colours = Array.from({ length: 256 }, (_, code) => packedColour([code, code, code]));
      const canvas = new OffscreenCanvas(size, size);
      const context = canvas.getContext("2d");
      paintMatrix(context, { codes, rows, columns, colours, hatch: [packedColour([255, 255, 255])] }, 0, 0, size, size);
      return Array.from(context.getImageData(0, 0, size, size).data).filter((_, index) => index % 4 === 0);
    }"""
    arguments: list[Any] = [codes.ravel().tolist(), *codes.shape, size]
    return np.array(scripts.evaluate(script, arguments)).reshape(size, size)


def test_a_thin_diagonal_survives_being_drawn_smaller(scripts: Page) -> None:
    """300 cells on 90 pixels: sampling would lose two cells of three, and with them most of the line."""
    codes = np.where(np.eye(300, k=-1, dtype=bool), 200, 1)
    picture = painted(scripts, codes, 90)
    assert ((picture == 200).sum(1) >= 1).all()
    assert (picture == 200).sum() < 2 * 90


def test_each_cell_is_drawn_once_and_in_its_place(scripts: Page) -> None:
    codes = np.arange(1, 26).reshape(5, 5)
    np.testing.assert_array_equal(painted(scripts, codes, 35), np.kron(codes, np.ones((7, 7), int)))
    np.testing.assert_array_equal(painted(scripts, codes, 5), codes)


def test_masked_cells_are_hatched_unless_a_weight_shares_their_pixel(scripts: Page) -> None:
    codes = np.array([[9, 0, 0, 0], [9, 9, 0, 0], [9, 9, 9, 0], [9, 9, 9, 9]])
    np.testing.assert_array_equal(painted(scripts, codes, 8), np.kron(np.where(codes, 9, 255), np.ones((2, 2), int)))
    assert painted(scripts, codes, 2).tolist() == [[9, 255], [9, 9]]


def test_ranks_count_larger_weights_of_the_row_and_leave_masked_keys_out(scripts: Page) -> None:
    pattern = np.array([[0.2, 0.5, 0.2, 0.1, 0.0]])
    masked = np.array([[False, False, False, False, True]])
    sent = encode_weights(pattern, masked)
    script = """([visible, masked]) => {
      const sent = [Float32Array.from(visible), Uint8Array.from(masked)].map((values) => ({ values }));
      const pattern = new Pattern(...sent, { values: [0] }, { values: upTo(5) });
      return [0, 1, 2, 3].map((key) => pattern.rankText(0, key));
    }"""
    ranks = scripts.evaluate(script, [sent.visible.tolist(), sent.masked[0].tolist()])
    assert ranks == ["2 of 4", "1 of 4", "2 of 4", "4 of 4"]


def compare(scripts: Page, panel: HeadPanel, show: str, sink: str, script: str) -> Any:
    """What a script makes of the `comparison` that the browser has of a panel."""
    arrays = {
        name: {
            "dtype": array.dtype.name,
            "values": [None if value != value else value for value in array.ravel().tolist()],
            "shape": array.shape,
        }
        for name, array in panel_arrays(panel).items()
    }
    compared = """([props, panel, show, sink]) => {
      const arrays = {};
      for (const [name, { dtype, values, shape }] of Object.entries(panel)) {
        arrays[name] = { values: new ARRAY_TYPES[dtype](values.map((value) => value ?? NaN)), shape };
      }
      const comparison = Comparison.from(props, arrays, "", { show, sink });
    """
    return scripts.evaluate(compared + script + "}", [panel_props(panel), arrays, show, sink])


def measures(scripts: Page, panel: HeadPanel, show: str, sink: str) -> list[np.ndarray]:
    """A's, B's and the difference's values of a head as the browser computes them; NaN where there is none."""
    script = """
      const { heads } = comparison;
      const [queries, keys] = [heads[0].rows, heads[0].columns].map(upTo);
      const number = (value) => (Number.isNaN(value) ? null : value);
      const table = (cell) => queries.map((query) => keys.map((key) => cell(query, key)));
      return heads.map((head) => [
        table((query, key) => number(head.value(query, key))),
        table((query, key) => head.lack(query, key)),
      ]);
    """
    by_head = compare(scripts, panel, show, sink, script)
    for values, lacks in by_head:
        np.testing.assert_array_equal(np.equal(values, None), np.not_equal(lacks, None))  # each lack has a reason
    return [np.array(values, float) for values, _ in by_head]


def test_every_cells_number_is_right_to_its_last_digit(scripts: Page) -> None:
    """Down to 1e-30, as the tooltip writes it; and the sum of two of a column to its fourth."""
    weights = np.maximum(np.random.default_rng(3).dirichlet(np.full(40, 0.1), 40), 1e-30).astype(np.float32)
    sent = encode_weights(weights, np.zeros((40, 40), bool))
    script = """([visible, masked]) => {
      const sent = [Float32Array.from(visible), Uint8Array.from(masked)].map((values) => ({ values }));
      const pattern = new Pattern(...sent, { values: Array(40).fill(0.5) }, { values: Array(40).fill(1) });
      const head = new MeasuredHead(pattern, "weight", "keep");
      const cells = upTo(40).flatMap((query) => upTo(40).map((key) => Object.fromEntries(head.describe(query, key))));
      const sums = upTo(40).map((key) => head.format(combinedValue(head, [22, 23], [key])));
      return [cells.map(({ weight, score }) => [weight, score]), sums];
    }"""
    cells, sums = scripts.evaluate(script, [sent.visible.tolist(), sent.masked.ravel().tolist()])
    for (weight, score), value in zip(cells, weights.ravel().astype(np.float64), strict=True):
        assert float(weight.replace("−", "-")) == float(f"{value:.3e}")
        assert score.replace("−", "-") == f"{np.log(value) + 0.5:.3f}"
    for text, value in zip(sums, weights[[22, 23]].astype(np.float64).sum(0), strict=True):
        assert float(text.replace("−", "-")) == float(f"{value:.3e}")


@pytest.mark.parametrize("sink", ["keep", "hide", "renormalise"])
def test_a_score_is_told_where_the_first_token_has_all_weight(scripts: Page, sink: str) -> None:
    """A row without its first token then sums to zero, which weights cannot be shares of; scores stay as they are."""
    script = """(sink) => {
      const sent = [Float32Array.of(1, 0), Uint8Array.of(0)].map((values) => ({ values }));
      const pattern = new Pattern(...sent, { values: [0.5] }, { values: [1, 1] });
      return new MeasuredHead(pattern, "score", sink).text(0, 1);
    }"""
    assert scripts.evaluate(script, sink) == f"< −{-(np.log(2.0**-126) + 0.5):.3f}"


@pytest.mark.parametrize("show", ["weight", "score", "write", "disagreement"])
@pytest.mark.parametrize("sink", ["keep", "hide", "renormalise"])
def test_a_pictures_levels_are_those_of_its_cells(scripts: Page, show: str, sink: str) -> None:
    """Of A, of B and of B - A, asked for in an order in which no row follows its neighbour."""
    script = """
      const scales = colourScales([comparison], "sqrt", false);
      return comparison.heads.map((head) => {
        const scale = scales.get(head);
        const level = (query, key) => {
          const value = head.value(query, key);
          return Number.isNaN(value) ? LACK_LEVELS[head.lack(query, key)] : scale.level(value);
        };
        const cells = upTo(head.columns).flatMap((key) => upTo(head.rows).map((query) => [query, key]));
        const painted = scale.levels(head);
        return cells.map(([query, key]) => [level(query, key), painted[query * head.columns + key]]);
      });
    """
    for pairs in compare(scripts, compared.panel(0, compare=True), show, sink, script):
        assert all(level == painted for level, painted in pairs)
        assert len({level for level, _ in pairs}) > 5


@pytest.mark.parametrize("show", ["weight", "score", "write", "disagreement"])
@pytest.mark.parametrize("sink", ["keep", "hide", "renormalise"])
def test_every_measure_and_its_difference_are_those_of_numpy(scripts: Page, show: str, sink: str) -> None:
    """Weights come as float32: six digits of numbers of size 1 to 10."""
    a, b, difference = measures(scripts, compared.panel(0, compare=True), show, sink)
    for actual, run in ((a, "a"), (b, "b")):
        expected = compared.on_axis(run, compared.measured(run, 0, show, sink))
        np.testing.assert_allclose(actual, expected, atol=2e-6)
    np.testing.assert_allclose(difference, compared.difference(0, show, sink), atol=4e-6)


@pytest.mark.parametrize("show", ["weight", "score", "write", "disagreement"])
@pytest.mark.parametrize("sink", ["keep", "hide", "renormalise"])
def test_every_measure_between_two_sequences_is_that_of_numpy(scripts: Page, show: str, sink: str) -> None:
    """More keys than queries; the errors are those of the codes, as above."""
    (actual,) = measures(scripts, crossed.panel(0), show, sink)
    np.testing.assert_allclose(actual, crossed.measured(0, show, sink), atol=1e-3)


def test_two_runs_with_other_tokens_on_both_axes_are_compared(scripts: Page) -> None:
    """B has neither the second query nor the first key: nothing is said of its row, and the key counts as zero."""
    queries, keys = [0, None, *range(2, len(crossed.TARGETS))], [None, *range(1, len(crossed.SOURCES))]
    panel = HeadPanel(crossed.panel(0).a, crossed.panel(1).a.on_axis(queries, keys))
    _, b, difference = measures(scripts, panel, "weight", "keep")
    expected = crossed.measured(1, "weight", "keep")
    expected[1], expected[:, 0] = np.nan, np.nan
    np.testing.assert_allclose(b, expected, atol=2e-6)
    expected[:, 0], expected[1] = 0, np.nan
    np.testing.assert_allclose(difference, expected - crossed.measured(0, "weight", "keep"), atol=2e-3)


def test_differences_of_weights_and_disagreements_sum_to_nothing(scripts: Page) -> None:
    """A key that one run lacks counts as zero there, so both rows are whole."""
    panel = compared.panel(0, compare=True)
    for show, sink in [("weight", "keep"), ("weight", "renormalise"), ("disagreement", "keep")]:
        difference = measures(scripts, panel, show, sink)[2]
        np.testing.assert_allclose(np.nansum(difference, axis=1), 0, atol=1e-3)  # seven codes' errors of 2e-4
    disagreement = measures(scripts, panel, "disagreement", "renormalise")[0]
    np.testing.assert_allclose(np.nansum(disagreement, axis=1), 0, atol=1e-6)  # one row's own weights cancel exactly


@pytest.mark.parametrize("root", ["sqrt", "linear"])
def test_colours_of_a_scale_follow_the_size_and_tell_the_sign(scripts: Page, root: str) -> None:
    script = """root => {
      const theme = { map: colourMap([255, 255, 255]), diverging: divergingMap([255, 255, 255]) };
      const scale = new ColourScale({ signed: true, root, limit: 4 });
      const values = [-4, -1, 0, 1, 4, 5];
      return [values.map((value) => scale.level(value)), values.map((value) => scale.colour(theme, value)),
              scale.ticks(), [0.0123, 3.71, 0].map(roundLimitUp)];
    }"""
    levels, colours, ticks, limits = scripts.evaluate(script, root)
    sizes = [(level - 3) // 2 for level in levels]
    quarter = {"sqrt": round(127 * 0.5), "linear": round(127 * 0.25)}[root]
    assert sizes == [127, quarter, 0, quarter, 127, 127]
    assert colours[2] == LIGHT
    assert all(colour[0] > colour[2] for colour in colours[:2])  # orange
    assert all(colour[2] > colour[0] for colour in colours[3:])  # blue
    assert [text for _, text in ticks] == {
        "sqrt": ["−4", "−1", "0", "+1", "+4"],
        "linear": ["−4", "−2", "0", "+2", "+4"],
    }[root]
    assert [place for place, _ in ticks] == [0, 0.25, 0.5, 0.75, 1]
    assert limits == [0.013, 3.8, 1]


def test_pages_and_scripts_call_measures_alike_and_end_scales_alike(scripts: Page) -> None:
    titles, measures = scripts.evaluate("[CONSTANTS.titles, Object.keys(MEASURES)]")
    assert titles == {show: fields.title(show) for show in measures}
    limits = [0.2649, 0.26, 19.2, 0.0123, 3.71, 100.1, 7]
    assert scripts.evaluate("limits => limits.map(roundLimitUp)", limits) == list(map(thumbnails.scale_end, limits))


@pytest.mark.parametrize("sink", ["keep", "hide", "renormalise"])
@pytest.mark.parametrize("show", ["weight", "score", "write", "disagreement"])
def test_only_of_weights_is_it_said_that_they_sum_to_one(scripts: Page, show: Show, sink: Sink) -> None:
    note = scripts.evaluate("([show, sink]) => CONSTANTS.sinkNotes.token[show][sink]", [show, sink])
    assert note == fields.sink_note(fields.How(show, sink))
    assert ("sum to 1" in note) == (sink == "renormalise" and show != "score")
    assert ("hidden" in note) == (sink != "keep")


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_zero_masked_absent_and_hidden_cells_are_told_apart(scripts: Page, background: list[int]) -> None:
    script = """background => {
      const theme = themeOf(isDark(background) ? "dark" : "light");
      const line = hatching(theme)[0];
      const lines = [line & 255, (line >> 8) & 255, (line >> 16) & 255];
      return [theme.map[0], lines, theme.absent, theme.hidden].map((colour) => oklabFromRgb(colour)[0]);
    }"""
    lightness = sorted(scripts.evaluate(script, background))
    assert min(np.diff(lightness)) > 0.04  # twice a just noticeable difference of OKLab's lightness


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_ink_can_be_read_on_every_colour_of_the_maps(scripts: Page, background: list[int]) -> None:
    script = """background => [...colourMap(background), ...divergingMap(background)].map((rgb) => [rgb, inkOn(rgb)])"""
    for rgb, ink in scripts.evaluate(script, background):
        colour, written = luminance(rgb), luminance([int(ink[at : at + 2], 16) for at in (1, 3, 5)])
        contrast = (max(colour, written) + 0.05) / (min(colour, written) + 0.05)
        assert contrast > 4.1  # the most that both inks have on one colour is 4.3; a map has 256


def luminance(rgb: list[int]) -> float:
    """By the definition of WCAG 2."""
    shares = (byte / 255 for byte in rgb)
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize(("shape", "width", "columns"), [((30, 9), 1360, 30), ((30, 9), 360, 9), ((12, 12), 900, 12)])
def test_many_layers_stand_across_where_they_have_room(
    scripts: Page, shape: tuple[int, int], width: int, columns: int
) -> None:
    scripts.add_script_tag(content=(SHARED.parent / "head_grid" / "layout.js").read_text(encoding="utf-8"))
    script = """([shape, width]) => {
      const layout = tableLayout([...shape, 24, 24], width, MAX_PITCH);
      const [left, top] = layout.corner(layout.indices.get("L2H1"));
      return [layout.columns, Math.round(left / layout.across), Math.round(top / layout.down)];
    }"""
    at = [2, 1] if columns == shape[0] and shape[0] != shape[1] else [1, 2]
    assert scripts.evaluate(script, [list(shape), width]) == [columns, *at]


@pytest.mark.parametrize(
    ("width", "n_heads", "abreast", "lines"),
    [(900, 3, 2, 1), (900, 4, 2, 2), (830, 2, 1, 1), (830, 3, 1, 2), (640, 3, 1, 2)],
)
def test_small_heads_stand_abreast_beside_the_large_one_where_they_have_room(
    scripts: Page, width: int, n_heads: int, abreast: int, lines: int
) -> None:
    """The third of three would else lie below the window's edge while the page's right side is empty."""
    scripts.set_viewport_size({"width": 1440, "height": 900})
    scripts.add_script_tag(content=(SHARED.parent / "heads" / "layout.js").read_text(encoding="utf-8"))
    script = """([width, count]) => {
      const comparisons = upTo(count).map(() => ({ heads: [null] }));
      const layout = headsLayout(comparisons, width, { query: 24, key: 24 }, { query: 56, key: 56 });
      return [layout.columns, layout.rows, layout.beside.width, layout.beside.height, layout.panel.height];
    }"""
    columns, rows, beside, height, whole = scripts.evaluate(script, [width, n_heads])
    large = int(columns.partition("px")[0])
    assert columns == f"{large}px repeat({abreast}, {beside}px)"
    assert rows == f"repeat({lines}, max-content) 1fr"
    assert 180 <= beside <= 220
    assert large + abreast * (beside + 18) <= width  # with the gaps between them
    if abreast < lines and beside > 180:
        assert lines * height + (lines - 1) * (14 + 26) <= whole  # as high as the large one


@pytest.mark.parametrize(
    ("width", "n_heads", "columns"), [(540, 3, 2), (540, 4, 2), (380, 3, 2), (540, 2, 1), (370, 3, 1), (540, 5, 1)]
)
def test_small_heads_stand_abreast_below_the_large_one_where_none_has_room_beside_it(
    scripts: Page, width: int, n_heads: int, columns: int
) -> None:
    """Beside a grid of 32 heads a layer three large ones would go on far below it."""
    scripts.set_viewport_size({"width": 1440, "height": 900})
    scripts.add_script_tag(content=(SHARED.parent / "heads" / "layout.js").read_text(encoding="utf-8"))
    script = """([width, count]) => {
      const comparisons = upTo(count).map(() => ({ heads: [null] }));
      const layout = headsLayout(comparisons, width, { query: 24, key: 24 }, { query: 56, key: 56 });
      return [layout.isBelow, layout.columns, layout.panel.width, layout.beside && layout.beside.width];
    }"""
    is_below, template, large, small = scripts.evaluate(script, [width, n_heads])
    assert is_below == (columns > 1)
    assert template == f"repeat({columns}, {small if is_below else large}px)"
    if is_below:
        assert small >= 180
        assert 2 * small + 18 <= width  # with the gap between them
        assert abs(2 * small + 18 - large) <= 1 or small == 180


def test_a_tooltip_names_a_whole_turn_by_its_beginning(scripts: Page) -> None:
    style = scripts.add_style_tag(content=(SHARED / "shared.css").read_text(encoding="utf-8"))
    script = """() => {
      const tooltip = new Tooltip(document.body);
      tooltip.show(10, 10, "word ".repeat(4000), [["weight", "0.5"]]);
      const bottoms = [tooltip.box.querySelector("dd"), tooltip.box].map((each) => each.getBoundingClientRect().bottom);
      tooltip.pane.remove();
      return bottoms;
    }"""
    value, box = scripts.evaluate(script)
    style.evaluate("(style) => style.remove()")
    assert value <= box < 400


@pytest.mark.parametrize(("pitch", "names"), [(19, ["H0", "1", "31"]), (24, ["H0", "H1", "H31"])])
def test_many_heads_a_layer_have_numbers_that_do_not_touch(browser: Browser, pitch: float, names: list[str]) -> None:
    page = browser.new_page()
    page.add_script_tag(content=mount.scripts(SHARED, SHARED.parent / "head_grid"))
    script = """(pitch) => {
      const across = element("div");
      const layout = { pitch, downPitch: pitch, isTurned: false };
      const thumbnails = { shape: [32, 32] };
      HeadGrid.prototype.drawLabels.call({ props: { order: null }, thumbnails, layout, across, down: element("div") });
      return [0, 1, 31].map((index) => across.children[index].textContent);
    }"""
    assert page.evaluate(script, pitch) == names
    page.close()


@pytest.mark.parametrize(("n_heads", "n_layers", "width"), [(4, 4, 460), (4, 4, 354), (12, 12, 460), (1, 2, 460)])
def test_sorted_heads_are_no_smaller_than_in_their_own_places(
    scripts: Page, n_heads: int, n_layers: int, width: int
) -> None:
    scripts.add_script_tag(content=(SHARED.parent / "head_grid" / "layout.js").read_text(encoding="utf-8"))
    script = """([layers, heads, width]) => {
      const shape = [layers, heads, 24, 24];
      const all = tableLayout(shape, width, MAX_PITCH);
      return [all.pitch, upTo(layers * heads).map((count) => {
        const some = flowLayout(all.heads.slice(0, count + 1), shape, width, 2);
        return [some.pitch, some.columns];
      })];
    }"""
    own, layouts = scripts.evaluate(script, [n_layers, n_heads, width])
    assert all(pitch >= own - 4 and columns * pitch <= width for pitch, columns in layouts)  # whole pixels a cell
    assert layouts[n_heads - 1][1] == min(n_heads, width // 66)  # a full line, of names that fit under their pictures


def test_a_scale_goes_as_far_as_other_heads_do_but_not_that_of_one_alone_and_not_for_noise(scripts: Page) -> None:
    script = """([largest, own, others]) => {
      const measure = { signed: true };
      return ColourScale.for([{ measure, largest }], "sqrt", own, others).limit;
    }"""
    cases = {(0.2, False, 0.2649): 0.27, (0.2, True, 0.2649): 0.2, (0.3, False, 0.27): 0.3, (1e-6, False, 0.0): 1}
    assert {case: scripts.evaluate(script, list(case)) for case in cases} == cases


def test_a_key_with_a_modifier_is_the_browsers_unless_it_is_named(scripts: Page) -> None:
    """As is one that is refused, and one that is pressed on a part: Alt and an arrow go back, Ctrl and plus enlarge."""
    script = """() => {
      const heard = [];
      const hear = (key) => heard.push(key);
      const box = element("div");
      const part = box.appendChild(element("button"));
      onKeys(box, { "+": hear, ArrowLeft: hear, Home: hear, "Control+Home": hear, Enter: () => false });
      const isTaken = (key, held = {}, pressed = box) =>
        !pressed.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...held }));
      const taken = [isTaken("Home"), isTaken("Home", { ctrlKey: true }), isTaken("+", { shiftKey: true })];
      const left = [isTaken("ArrowLeft", { altKey: true }), isTaken("+", { ctrlKey: true }),
                    isTaken("Home", { metaKey: true }), isTaken("Enter"), isTaken("End"), isTaken("Home", {}, part)];
      return [heard, taken, left];
    }"""
    heard, taken, left = scripts.evaluate(script)
    assert heard == ["Home", "Control+Home", "+"]
    assert taken == [True] * 3
    assert left == [False] * 6


def test_heads_are_known_by_their_names_alone_and_by_a_row_and_a_column(scripts: Page) -> None:
    texts = [
        ["L1H3"],
        ["L12", "H0"],
        ["H7", "L2"],
        ["L1H3 → L2H0, L1H3", "x"],
        ["L1", "MLP"],
        ["XL1H3", "L1H", "Lemma H3"],
    ]
    heads = scripts.evaluate("texts => texts.map((each) => headsIn(...each))", texts)
    assert heads == [[[1, 3]], [[12, 0]], [[2, 7]], [[1, 3], [2, 0]], [], []]


def test_a_lens_writes_a_word_where_the_guess_changes_and_marks_it_from_where_it_stays(scripts: Page) -> None:
    scripts.add_script_tag(content=(SHARED.parent / "lens_grid" / "readings.js").read_text(encoding="utf-8"))
    script = """([top, changes, settled]) => {
      const [layers, positions] = [top.length, top[0].length];
      const held = (values, ...shape) => ({ values, shape });
      const sent = { top0: held(top.flat(), layers, positions, 1), probabilities0: held([]), measure0: held([]) };
      const cells = upTo(layers).flatMap((layer) => upTo(positions).map((position) => ({ layer, position })));
      const [all, story] = [sent, { ...sent, changes0: held(changes.flat()), settled0: held(settled) }].map(
        (arrays) => new Reading("", [], arrays, 0));
      return [cells.map((cell) => all.isWritten(cell)), cells.map((cell) => all.isSettled(cell)),
              cells.map((cell) => story.isWritten(cell)), cells.map((cell) => story.isSettled(cell))];
    }"""
    top, changes, settled = [[1, 1], [1, 2], [3, 2]], [[1, 1], [0, 1], [1, 0]], [2, 1]
    every, none, written, stays = scripts.evaluate(script, [top, changes, settled])
    assert (set(every), set(none)) == ({True}, {False})
    assert written == [True, True, False, True, True, False]
    assert stays == [False, False, False, True, True, True]


def maps(scripts: Page) -> None:
    for name in ("scales.js", "picture.js"):
        scripts.add_script_tag(content=(SHARED.parent / "cell_map" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("end", "centre", "written"),
    [
        (0.2, 0.0, {0.2: "0.20", -0.011: "−0.01", 0.009: None, 0.0: None}),
        (1.0, 1.0, {0.0: "0", 0.94: "0.94", 1.04: None, 1.0: None}),
        (0.0123, 0.0, {0.0123: "0.0123", 0.0007: "0.0007", 0.0005: None}),
        (250.0, 0.0, {-250.0: "−250", 13.0: "13", 12.0: None}),
    ],
)
def test_a_cell_has_its_number_from_a_twentieth_of_the_scale_on(
    scripts: Page, end: float, centre: float, written: dict[float, str | None]
) -> None:
    """And never a zero where nothing was changed: those would be the loudest thing of a map."""
    maps(scripts)
    script = """([values, end, centre]) => {
      const axis = (labels) => ({ name: "", labels, numbered: false });
      const props = { rows: axis(["a"]), columns: axis(values.map(String)), scale: "signed", ends: [0, end], centre };
      const picture = new MapPicture(props, { values, shape: [1, values.length] });
      const text = (cell) => (picture.isLarge(cell) ? picture.written(cell) : null);
      const texts = () => values.map((_, column) => text([0, column]));
      const whole = texts();
      picture.isShort = true; // where cells are narrow
      return [whole, texts()];
    }"""
    short = [text and (text.replace("0.", ".", 1) if "." in text else text) for text in written.values()]
    assert scripts.evaluate(script, [list(written), end, centre]) == [list(written.values()), short]


def test_a_deep_models_layers_stand_across_a_map_of_heads_where_they_have_room(scripts: Page) -> None:
    """Cells keep their names: a layer and a head, wherever they are drawn and whichever key leads there."""
    maps(scripts)
    script = """([layers, heads, width, names]) => {
      const axis = (name, count) => ({ name, labels: upTo(count).map(String), numbered: false });
      const [rows, columns] = [axis(names[0], layers), axis(names[1], heads)];
      const props = { rows, columns, scale: "linear", ends: [0, 1], centre: 0 };
      const picture = new MapPicture(props, { values: upTo(layers * heads), shape: [layers, heads] });
      picture.isTurned = picture.turnsAt(width);
      picture.pitch = 30;
      const at = picture.cellAt(...picture.corner([7, 2], 0.5));
      const steps = [picture.step([7, 2], 1, 0), picture.step(null, 0, 1)];
      return [picture.isTurned, picture.corner([7, 2]), at, picture.value(at), ...steps];
    }"""
    heads, positions = ["layer", "head"], ["layer", "position"]
    turned, corner, at, value, below, first = scripts.evaluate(script, [30, 9, 1200, heads])
    assert (turned, corner, at, value) == (True, [210, 40], [7, 2], 7 * 9 + 2)
    assert (below, first) == ([7, 3], [0, 0])
    assert scripts.evaluate(script, [30, 9, 600, heads])[0]  # beside a lesson, at 20 pixels a layer
    for case in ([30, 9, 390, heads], [12, 12, 1200, heads], [30, 9, 1200, positions]):
        turned, corner, at, value, below, _ = scripts.evaluate(script, case)
        assert (turned, corner, at, value) == (False, [60, 140], [7, 2], 7 * case[1] + 2)
        assert below == [8, 2]


def test_a_curved_edge_is_found_where_it_is_drawn(browser: Browser) -> None:
    """Points of the cubic by De Casteljau's construction, and what the pointer reckons at their heights."""
    page = browser.new_page()
    page.add_script_tag(content=mount.scripts(SHARED, SHARED.parent / "flow_graph"))
    shares = np.linspace(0, 1, 11)
    points = np.array([[0, 0], [0, 0.5], [1, 0.5], [1, 1.0]])[:, None] + np.zeros((4, 11, 2))
    while len(points) > 1:
        points = points[:-1] * (1 - shares[:, None]) + points[1:] * shares[:, None]
    script = "heights => heights.map((height) => FlowGraph.prototype.passes(40, 30, height, 0)[0])"
    aside = page.evaluate(script, points[0, :, 1].tolist())
    page.close()
    np.testing.assert_allclose(aside, 40 * points[0, :, 0], atol=1e-6)  # Newton's steps converge to rounding


@pytest.mark.parametrize(
    ("taken", "count", "room"),
    [((0, 4, 5, 59), 60, 1275), (range(24), 24, 1275), ((0, 23), 24, 250), ((3,), 200, 1000)],
)
def test_positions_without_a_node_have_at_most_half_a_column_of_the_flow(
    browser: Browser, taken: Sequence[int], count: int, room: int
) -> None:
    """Those with one are as wide as there is room for, and every token has a line, where half a column is one."""
    page = browser.new_page()
    page.add_script_tag(content=mount.scripts(SHARED, SHARED.parent / "flow_graph"))
    script = """([taken, positions, room]) => {
      const nodes = taken.map((position) => ({ position }));
      return Graph.prototype.columns.call({ nodes, positions }, room);
    }"""
    begins = page.evaluate(script, [list(taken), count, room])
    page.close()
    widths = np.diff(begins)
    (wide,) = set(widths[list(taken)].tolist())
    narrow = set(np.delete(widths, list(taken)).tolist())
    assert begins[0] == 0
    assert len(widths) == count
    assert 24 <= wide <= 120
    assert len(narrow) == (len(taken) < count)
    assert all(12 <= width <= wide / 2 for width in narrow)
    assert begins[-1] <= room or wide == 24  # beyond which it is scrolled
    assert begins[-1] > room - count or wide == 120  # and else the window is full


def test_a_tooltip_has_no_rows_for_what_arrays_of_weights_do_not_tell(scripts: Page) -> None:
    """As `show.attention` sends them: without scores and without the norms of what is written."""
    script = """() => {
      const sent = [Float32Array.of(1, 0.25, 0.75), Uint8Array.of(64, 0)].map((values) => ({ values }));
      const of = (known) => new Pattern(...sent, { values: [known, known] }, { values: [known, known] });
      const rows = (known) => new MeasuredHead(of(known), "weight", "keep").describe(1, 0);
      return [NaN, 0.5].map((known) => rows(known).map(([name]) => name));
    }"""
    alone, known = scripts.evaluate(script)
    assert alone == ["weight", "rank"]
    assert known == ["weight", "score", "value-weighted norm", "rank"]


def test_a_first_token_that_is_far_longer_does_not_make_the_others_look_alike(scripts: Page) -> None:
    scripts.add_script_tag(content=(SHARED.parent / "head_steps" / "matrices.js").read_text(encoding="utf-8"))
    script = """(nTokens) => {
      const { limit, signed } = scaleOf(new Float32Array([900, -800, 3, NaN, -4, 2]), nTokens);
      return [limit, signed];
    }"""
    assert scripts.evaluate(script, 3) == [4, True]
    assert scripts.evaluate(script, 1) == [900, True]  # rows that are no tokens


def test_labels_of_a_colour_bar_do_not_touch_on_a_phone(scripts: Page) -> None:
    script = """labels => {
      const share = (at) => at / (labels.length - 1);
      const ticks = labels.map((label, at) => [share(at), label]);
      const bar = legendBar({ title: "", ticks, map: new Array(MAP_SIZE).fill([0, 0, 0]) });
      return [...bar.querySelectorAll(".tick")].map((tick) => tick.textContent);
    }"""
    short, long = ["−0.59", "−0.15", "0", "+0.15", "+0.59"], ["−0.089", "−0.044", "0", "+0.044", "+0.089"]
    assert scripts.evaluate(script, short) == short
    assert scripts.evaluate(script, long) == [long[0], "0", long[-1]]
