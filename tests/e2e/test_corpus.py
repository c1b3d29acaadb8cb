"""From a corpus to a circuit: find the induction heads, open the strongest sequence, explain its cell, cut it."""

import re
from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver
from tests.mini_scan import texts, write_scan
from tests.serving import headlight

CORPUS = next(view for view in VIEWS if view.slug == "corpus")
INDUCTION = ["L1H0", "L1H1"]  # by mini's card


@pytest.fixture(scope="module")
def with_scan(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A window on a server whose models folder holds a scan of mini."""
    folder = tmp_path_factory.mktemp("scanned")
    write_scan(folder / "models" / "words")
    with headlight(folder, "--threads", "1", "--models-folder", str(folder / "models")) as url:
        driver = Driver(browser, url)
        yield driver
        driver.close()
        assert not driver.complaints
        assert not driver.outside


def chosen(app: Driver, name: str) -> str:
    return parse_qs(urlparse(app.page.url).query).get(name, [""])[0]


def test_an_induction_head_is_found_opened_explained_and_cut(with_scan: Driver) -> None:
    app, page = with_scan, with_scan.page
    app.open(CORPUS, scan="words", prompt="The cat sat")
    first = page.get_by_role("grid", name="Heads by Induction").locator("tbody tr td:nth-child(1)")
    assert sorted(first.all_inner_texts()[:2]) == INDUCTION
    page.get_by_role("gridcell", name="L1H0").click()
    expect(page.get_by_role("heading", name="L1H0 over the corpus")).to_be_visible()
    app.settle()
    strongest = page.locator(".sequence").first
    weight = float(strongest.locator("strong").inner_text())
    strongest.click()
    app.settle()
    page.get_by_role("button", name="Why", exact=True).click()
    page.wait_for_url(re.compile("page=why"))
    app.settle()
    assert chosen(app, "prompt") in texts()
    assert chosen(app, "heads") == "1.0"
    said = page.get_by_text(re.compile(r"looks at .* weight \d")).first
    expect(said).to_be_visible()
    page_weight = float(re.search(r"weight (\d\.\d+)", said.inner_text()).group(1))  # type: ignore[union-attr]
    assert page_weight == pytest.approx(weight, abs=5e-4)  # what three decimals leave open
    expect(page.get_by_text("edge cut", exact=False).first).to_be_visible()


def test_a_token_that_is_pointed_at_tells_where_it_looks(with_scan: Driver) -> None:
    app, page = with_scan, with_scan.page
    app.open(CORPUS, scan="words", prompt="The cat sat", heads="1.0")
    page.locator(".token.query").first.hover()
    tooltip = page.locator(".tooltip:popover-open")
    expect(tooltip).to_contain_text("attends to")
    page.get_by_role("listbox").press("ArrowRight")
    expect(page.locator(".headlight .live").filter(has_text="attends to").first).to_be_attached()


def test_a_sequence_begins_with_a_whole_line(with_scan: Driver) -> None:
    app, page = with_scan, with_scan.page
    page.set_viewport_size({"width": 390, "height": 900})
    app.open(CORPUS, scan="mini", prompt="The cat sat", heads="1.0")
    read = "texts => texts.map(text => text.scrollTop / parseFloat(getComputedStyle(text).lineHeight))"
    lines = page.locator(".sequence .text").evaluate_all(read)
    assert max(lines) > 0
    assert lines == pytest.approx([round(line) for line in lines], abs=0.05)


def test_figures_of_a_row_stand_side_by_side(with_scan: Driver) -> None:
    """Whether their names take one line or two."""
    app, page = with_scan, with_scan.page
    page.set_viewport_size({"width": 1440, "height": 900})
    app.open(CORPUS, scan="mini", prompt="The cat sat", heads="1.0")
    read = "all => all.map(each => [each.previousElementSibling.clientHeight, each.getBoundingClientRect().top])"
    boxes = page.locator(".entry > dd").evaluate_all(read)
    assert len({height for height, _ in boxes}) > 1
    tops = sorted({round(top) for _, top in boxes})
    assert len(tops) < len(boxes)
    assert min(later - earlier for earlier, later in pairwise(tops)) > 30


def test_a_click_on_a_point_chooses_the_head(with_scan: Driver) -> None:
    app, page = with_scan, with_scan.page
    app.open(CORPUS, scan="words", prompt="The cat sat", heads="1.0")
    points = page.locator(".js-plotly-plot").first.locator("path.point")
    points.nth(10).click(force=True)
    page.wait_for_url(lambda url: "heads=1.0" not in url and "heads=" in url)
    expect(page.get_by_role("heading", name="L2H2 over the corpus")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_fits_and_its_picture_comes_first(with_scan: Driver, width: int) -> None:
    app, page = with_scan, with_scan.page
    page.set_viewport_size({"width": width, "height": 900})
    app.open(CORPUS, scan="words", prompt="The cat sat")
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") == 0
    box = page.locator(".js-plotly-plot").first.bounding_box()
    assert box
    assert width < 1000 or box["y"] < 260
