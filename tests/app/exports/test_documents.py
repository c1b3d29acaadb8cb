"""A view as one file: it needs nothing else, it stays small, and it does what the page does."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from headlight.app.components.shared.mount import SHARED, bare
from headlight.app.exports.export import Export
from headlight.app.frame.prompt_list import Prompt
from headlight.app.pages.attention import EXPORT as ATTENTION
from headlight.app.pages.flow import EXPORT as FLOW
from headlight.app.pages.generate import EXPORT as GENERATE
from headlight.app.pages.inside import EXPORT as INSIDE
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.runs import comparisons
from headlight.model import Transformer, TransformerConfig, save_gpt2
from headlight.model.attention.residual_tables import component_norms
from headlight.model.runs.comparison import Comparison
from tests.app.exports.hostile import HOSTILE, LISTED, OTHER, PROMPTS, TEXTS, chosen, listing
from tests.places import MINI

LIMIT = 1_550_000  # bytes


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator["Opened"]:
    """A window without a network, and whatever the page asks for or complains about."""
    window = Opened(browser, tmp_path / "page.html")
    yield window
    window.page.context.close()
    assert not window.complaints
    assert not [url for url in window.requests if not url.startswith(("file:///", "data:", "blob:"))]


class Opened:
    """A file in a browser."""

    def __init__(self, browser: Browser, path: Path) -> None:
        context = browser.new_context(offline=True, viewport={"width": 1300, "height": 1000})
        self.path, self.page = path, context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda line: self.complaints.append(line.text))

    def open(self, content: bytes) -> Page:
        self.path.write_bytes(content)
        self.page.goto(self.path.as_uri())
        expect(self.page.locator("canvas:visible, .cell:visible").first).to_be_visible()
        return self.page


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, RESIDUAL, LENS, FLOW, GENERATE, PROMPTS])
def test_a_page_names_nothing_outside_itself(export: Export, two: Comparison, folder: str) -> None:
    made = [export.page(two, chosen(folder, prompt_b=OTHER)) for _ in range(2)]
    assert made[0] == made[1]
    text = re.sub(r'(?<=id="data">)[A-Za-z0-9+/=]+', "", made[0].decode())
    assert not re.findall(r"https?:|//[a-z]|\bsrc=|\bhref=|@import|url\(|\bfetch\(|\u2028", text)
    assert len(re.findall(r"<script\b", text)) == len(re.findall(r"</script>", text)) == 2
    assert "default-src 'none'" in text
    assert two.a.source.sha256 in text


def test_what_components_share_is_in_a_file_once(alone: Comparison, folder: str) -> None:
    text = ATTENTION.page(alone, chosen(folder)).decode()
    assert text.count('<template id="') > 2
    for name in ("shared.css", "measures.js"):
        assert text.count(bare((SHARED / name).read_text(encoding="utf-8")).strip()) == 1


def test_a_click_on_a_thumbnail_shows_the_head(opened: Opened, alone: Comparison, folder: str) -> None:
    page = opened.open(ATTENTION.page(alone, chosen(folder)))
    panels = page.locator("figure.panel")
    expect(panels).to_have_count(2)
    board = page.locator(".board")
    box = board.locator("canvas").bounding_box()
    assert box
    board.click(position={"x": box["width"] * 3.5 / 5, "y": box["height"] * 2.5 / 3})
    expect(panels).to_have_count(3)
    expect(panels.nth(2)).to_contain_text("L2H3")
    page.mouse.move(0, 0)
    panels.nth(2).locator("canvas").last.hover(position={"x": 100, "y": 12})
    tooltip = page.locator(".tooltip:popover-open")
    expect(tooltip).to_contain_text("L2H3")
    page.locator(".chip").first.click()
    expect(page.locator(".chip.pinned")).to_have_count(1)


def test_the_measure_can_be_changed_in_the_file(opened: Opened, two: Comparison, folder: str) -> None:
    page = opened.open(ATTENTION.page(two, chosen(folder, prompt_b=OTHER)))
    expect(page.locator("figure.panel")).to_have_count(6)
    before = page.locator("figure.panel canvas").first.evaluate("canvas => canvas.toDataURL()")
    page.get_by_label("Cells show").select_option("write")
    expect(page.locator(".panels")).to_have_attribute("aria-label", re.compile("value-weighted norm"))
    after = page.locator("figure.panel canvas").first.evaluate("canvas => canvas.toDataURL()")
    assert before != after


def test_the_lens_in_a_file_tells_what_is_under_the_pointer(opened: Opened, alone: Comparison, folder: str) -> None:
    page = opened.open(LENS.page(alone, chosen(folder)))
    page.locator("canvas").first.hover(position={"x": 120, "y": 14})
    expect(page.locator(".tooltip:popover-open .share")).to_have_count(10)


def test_a_click_on_the_stream_shows_that_tokens_parts(opened: Opened, two: Comparison, folder: str) -> None:
    page = opened.open(RESIDUAL.page(two, chosen(folder, prompt_b=OTHER)))
    expect(page.locator(".legend .bar").last).to_be_visible()
    page.locator("canvas").first.click(position={"x": 46, "y": 28})
    expect(page.get_by_text("component norms (L2) at 0 <|endoftext|>")).to_have_count(3)
    bars = page.locator(".track .bar")
    expect(bars).to_have_count(2 * 3 * (2 + 2 * 3))  # two charts, A, B and B - A, embeddings and three layers
    bars.nth(1).hover()
    expect(page.locator(".tooltip:popover-open")).to_contain_text("position embedding")
    at_first = component_norms(two)["A"].values[:, 0]
    texts = page.locator(".rows").first.locator(".value").all_text_contents()
    np.testing.assert_allclose([float(text) for text in texts], at_first, rtol=5e-4)  # four digits


def test_prompts_are_sorted_and_shown_as_they_are(opened: Opened, alone: Comparison, folder: str) -> None:
    page = opened.open(PROMPTS.page(alone, chosen(folder, statistic="first_token", statistic_head=(0, 1))))
    table = page.get_by_role("grid", name="Prompts.")
    texts = table.locator("tbody td:first-child")
    assert texts.all_text_contents()[: len(TEXTS)] == TEXTS
    table.get_by_role("button", name="L0H1 First token").click()
    values = [float(text) for text in table.locator("tbody td:nth-child(2)").all_text_contents() if text != "–"]
    assert values == sorted(values)
    assert len(values) == len(LISTED) - 2
    assert texts.last.text_content() == "not run yet"  # what is missing stays below
    table.get_by_role("button", name="label <b>no</b>").click()
    assert page.locator("main b, main script").count() == 0


def test_a_head_of_the_maps_says_what_its_squares_mean(opened: Opened, alone: Comparison, folder: str) -> None:
    selection = chosen(folder)
    page = opened.open(PROMPTS.page(alone, selection))
    maps = page.get_by_role("application")
    maps.first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    mean = PROMPTS.data(alone, selection).arrays["mean"].values[1, 2].item()
    expect(page.locator(".tooltip:popover-open")).to_contain_text(f"layerL1headH2value{mean:.4g}")
    framed = "stages => stages.filter((stage) => stage.lastChild.width > 0).length"
    assert page.locator(".stage").evaluate_all(framed) == 2  # the head stands in both maps
    means = page.get_by_role("grid", name="Heads.").locator("tbody td:nth-child(2)").all_text_contents()
    assert list(map(float, means)) == sorted(map(float, means), reverse=True)


@pytest.fixture(scope="module")
def gpt2_shaped(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of GPT-2-small's 144 heads, thin in all that a page does not hold."""
    path = tmp_path_factory.mktemp("shaped") / "shaped"
    cfg = TransformerConfig(
        n_layers=12, n_heads=12, d_head=8, d_model=96, d_mlp=16, n_ctx=64, d_vocab=4096, tie_word_embeddings=True
    )
    torch.manual_seed(0)
    model = Transformer(cfg)
    for name, parameter in model.named_parameters():
        if name.endswith(("W_Q", "W_K", "W_pos")):
            parameter.data *= 20  # patterns that are far from uniform, and do not compress
    save_gpt2(model, path)
    for file in MINI.glob("tokenizer*.json"):
        (path / file.name).write_bytes(file.read_bytes())
    return str(path)


def test_every_head_of_gpt2_over_64_tokens_fits_into_one_small_file(gpt2_shaped: str) -> None:
    selection = chosen(gpt2_shaped, prompt=" one two three" * 21)
    compared = replace(selection, prompt_b=" one three two" * 21)
    for each in (selection, compared):
        seen = comparisons.for_selection(each)
        assert len(seen.a.labels) == 64
        for export in (ATTENTION, INSIDE, RESIDUAL, LENS, GENERATE, listing(LISTED[:3])):
            assert len(export.page(seen, each)) < LIMIT


def test_where_all_heads_are_too_many_the_file_says_which_it_holds(
    opened: Opened, alone: Comparison, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.app.pages.attention.exports.MAX_CODES", 1)
    page = opened.open(ATTENTION.page(alone, chosen(folder)))
    board = page.locator(".board")
    box = board.locator("canvas").bounding_box()
    assert box
    board.click(position={"x": box["width"] * 3.5 / 5, "y": box["height"] * 2.5 / 3})
    expect(page.locator("main p.note")).to_have_text("L2H3: not in this file. It holds L1H2, L0H4.")


def test_a_thousand_prompts_fit_into_one_small_file(alone: Comparison, folder: str) -> None:
    many = tuple(
        replace(LISTED[0], prompt=replace(LISTED[0].prompt, text=f"one two {n} one {n * n}")) for n in range(20)
    )
    long = tuple(replace(LISTED[-1], prompt=Prompt(f"{n} {HOSTILE * 100}", "typed")) for n in range(980))
    assert len(listing(many + long).page(alone, chosen(folder))) < LIMIT


def test_with_a_b_the_large_pictures_have_the_width_and_the_limits_of_the_grid(
    two: Comparison, folder: str, opened: Opened
) -> None:
    page = opened.open(ATTENTION.page(two, chosen(folder, prompt_b=OTHER, show="write", heads=((0, 0),))))
    named = "all => all.map(scale => scale.ariaLabel)"
    name = "value-weighted norm (L2 norm)"
    of_panels, of_all = (page.locator(f"{at} .legend .scale").evaluate_all(named) for at in (".bars", ""))
    assert [f"B − A: {name}" in label for label in of_panels] == [False]  # the grid's is theirs, as it goes as far
    assert sum(f"B − A: {name}" in label for label in of_all) == 1
    boxes = [plot.bounding_box() for plot in page.locator(".plot").all()]
    assert len(boxes) == 3
    assert all(box and box["width"] > 350 for box in boxes)  # a third of the window, and not of its right side


@pytest.mark.parametrize(("around", "theme"), [("#111111", "dark"), ("#ffffff", "light"), ("", "light")])
def test_a_picture_in_a_notebook_has_the_notebooks_theme(
    opened: Opened, alone: Comparison, folder: str, around: str, theme: str
) -> None:
    """Whatever the system's is, which is light here; it follows when the notebook changes."""
    text = html.escape(RESIDUAL.page(alone, chosen(folder)).decode(), quote=True)
    opened.path.write_text(f'<body style="background: {around}"><div><iframe srcdoc="{text}"></iframe></div></body>')
    opened.page.goto(opened.path.as_uri())
    scheme = "root => root.style.colorScheme"
    picture = opened.page.frame_locator("iframe")
    picture.locator("canvas").first.wait_for()
    assert picture.locator("html").evaluate(scheme) == theme
    opened.page.evaluate("document.body.style.background = '#222222'")
    expect(picture.locator("html")).to_have_css("color-scheme", "dark")
