"""What can be taken along of the page *Corpus*: the script prints its numbers, and no text becomes markup."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from headlight.app.exports import style
from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.figures import files
from headlight.app.pages.corpus import EXPORT
from headlight.app.runs import comparisons
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.exports.hostile import chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.exports.test_documents import Opened

CASES: list[dict[str, object]] = [
    {"scan": "early", "heads": ((1, 2), (0, 1))},
    {"scan": "early", "scan_b": "late"},
    {"scan": "other/headvis/pile", "scan_heads": ((1, 1),)},  # hostile names, and no model of that name
]


@pytest.mark.parametrize("fields", CASES)
def test_the_script_prints_the_pages_numbers(fields: dict[str, object], folder: str, scans: Path) -> None:
    selection = chosen(folder, **fields)
    comparison = comparisons.for_selection(selection)
    compare(run_here(EXPORT.script(comparison, selection)), EXPORT, fields, folder)
    assert archive(comparison, EXPORT.data(comparison, selection)) == archive(
        comparison, EXPORT.data(comparison, selection)
    )


def test_picture_figure_and_page_hold_the_heads_and_no_markup(run: Run, scans: Path) -> None:
    for fields in CASES:
        comparison, selection = Comparison(run), selection_of(**fields)
        picture = style.file(lambda f=comparison, s=selection: EXPORT.picture(f, s, LIGHT), LIGHT, "svg").decode()
        assert "Induction" in picture
        assert "<b>" not in picture
        assert EXPORT.plots is not None
        assert b"Induction" in files.as_json(EXPORT.plots(comparison, selection), False)
        page = EXPORT.page(comparison, selection).decode()
        outside = re.sub(r'(?<=id="data">)[A-Za-z0-9+/=]+', "", page)
        named = outside.replace("https://e.example/p.png", "")  # by the tree itself, as text
        assert not re.findall(r"https?:|\bsrc=|\bhref=|@import|url\(|\bfetch\(|<b>", named)


def test_the_change_of_a_figure_is_the_difference_of_its_two_rows(run: Run, scans: Path) -> None:
    tables = EXPORT.data(Comparison(run), selection_of(**CASES[1])).tables["figures"]
    rows = list(zip(*tables.values(), strict=True))
    values = {(side, head, figure): value for side, head, figure, _, value, *_ in rows}
    for (side, head, figure), value in values.items():
        if side == "B - A":
            assert value == pytest.approx(values["B", head, figure] - values["A", head, figure])


@pytest.mark.thorough
def test_the_file_shows_where_a_token_looks_without_a_server(
    run: Run, scans: Path, browser: Browser, tmp_path: Path
) -> None:
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.open(EXPORT.page(Comparison(run), selection_of(scan="early", heads=((1, 2),))))
    page.locator(".token.query").first.hover()
    expect(page.locator(".tooltip:popover-open")).to_contain_text("attends to")
    expect(page.locator("tbody tr").first).to_contain_text("L2H4")
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    opened.page.context.close()
    assert not opened.complaints
