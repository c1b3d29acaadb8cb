"""The page of all prompts in a browser: upload, run, stop, sort, open, take away."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("own_session")

VIEW = next(view for view in VIEWS if view.slug == "prompts")
SHOWN = "The keys to the cabinet"
HOSTILE = ["<b>x</b>", "![i](https://e.example/p.png)", "=1+1", '<a href="https://e.example">']
REPEATS = "red blue red blue red blue"
MADE_OF_TEXT = "b, img[src*='e.example'], a[href*='e.example']"


def _upload(app: Driver, folder: Path, *prompts: str) -> None:
    """Upload a csv file of these prompts, numbered in a column whose name is hostile too."""
    text = io.StringIO()
    csv.writer(text).writerows([["prompt", "<b>no</b>"], *([prompt, number] for number, prompt in enumerate(prompts))])
    path = folder / "prompts.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    app.upload(path)
    expect(app.page.get_by_text("new prompt")).to_be_visible()
    app.settle()


def _table(app: Driver, name: str = "All prompts with their statistic") -> Locator:
    return app.page.get_by_role("grid", name=name)


def _column(app: Driver, place: int) -> Locator:
    return _table(app).locator(f"tbody td:nth-child({place})")


def _statistics(app: Driver) -> list[float]:
    return [float(value) for value in _column(app, 2).all_inner_texts() if value != "–"]


def _press(app: Driver, name: str | re.Pattern[str]) -> None:
    app.page.get_by_test_id("stMain").get_by_role("button", name=name).click()


def test_an_uploaded_file_is_run_sorted_and_opened(app: Driver, tmp_path: Path) -> None:
    app.open(VIEW, prompt=SHOWN)
    _upload(app, tmp_path, *HOSTILE, REPEATS)
    expect(_column(app, 1)).to_have_text([SHOWN, *HOSTILE, REPEATS])
    expect(_column(app, 4)).to_have_text(["run", *["not run"] * 5])
    _press(app, re.compile(r"^Run \d"))
    expect(app.page.get_by_text("6 of 6 run")).to_be_visible()
    expect(_column(app, 4)).to_have_text(["run"] * 6)
    assert app.page.get_by_test_id("stMain").locator(MADE_OF_TEXT).count() == 0

    before = _statistics(app)
    assert before != sorted(before)
    _table(app).get_by_role("button", name=re.compile(r"^L\dH\d Induction")).click()
    expect(_column(app, 1)).not_to_have_text([SHOWN, *HOSTILE, REPEATS])
    assert _statistics(app) == sorted(before)
    _column(app, 1).get_by_text(HOSTILE[1], exact=True).click()
    _press(app, "Open as B")
    app.page.wait_for_url(lambda url: "prompt_b=" in url)
    expect(app.page.get_by_role("textbox", name=re.compile("^Prompt")).nth(1)).to_have_value(HOSTILE[1])
    expect(app.board.first).to_be_visible()


def test_what_cannot_be_run_says_why_and_is_removed(app: Driver, tmp_path: Path) -> None:
    app.open(VIEW, prompt=SHOWN)
    _upload(app, tmp_path, "far too long " * 400)
    _press(app, re.compile(r"^Run \d"))
    expect(app.page.get_by_text("1 cannot run: click one to see why")).to_be_visible()
    expect(_column(app, 4)).to_have_text(["run", re.compile("context holds")])
    _table(app).focus()
    app.page.keyboard.press("End")
    app.page.keyboard.press("Enter")
    expect(app.refused).to_contain_text("context holds")
    _press(app, "Remove")
    expect(_column(app, 1)).to_have_text([SHOWN])
    expect(app.page.get_by_role("button", name="Remove")).to_be_disabled()
    expect(app.refused).to_have_count(0)
    _press(app, "Clear the list")
    expect(app.page.get_by_text("No rows.").first).to_be_visible()


def test_one_of_the_last_runs_is_gone_back_to(app: Driver) -> None:
    app.open(VIEWS[0], prompt=SHOWN, scale="linear")
    app.run(REPEATS)
    app.page.wait_for_url(lambda url: "red" in url)
    app.settle()
    app.go_to(VIEW)
    runs = _table(app, "The last runs")
    expect(runs.locator("tbody td:first-child")).to_have_text([REPEATS, SHOWN])
    runs.get_by_role("row").last.click()
    _press(app, "Restore this run")
    app.page.wait_for_url(lambda url: "scale=linear" in url and "page=" not in url)
    expect(app.prompt).to_have_value(SHOWN)


def test_the_run_of_many_prompts_stops_when_asked_and_keeps_what_is_done(app: Driver, tmp_path: Path) -> None:
    app.open(VIEW, prompt=SHOWN)
    prompts = [f"{number} " + "the cat and the dog " * 45 for number in range(300)]
    _upload(app, tmp_path, *prompts)
    _press(app, re.compile(r"^Run \d"))
    expect(app.page.get_by_text(re.compile(r"^[1-9]\d* of \d+ prompts run"))).to_be_visible()
    streamlits_stop = app.page.locator("[data-testid=stStatusWidget] button")
    streamlits_stop.wait_for(state="attached")
    assert not streamlits_stop.is_visible()
    _press(app, "Stop")
    expect(app.page.get_by_role("button", name=re.compile(r"^Run \d+ prompts"))).to_be_visible()
    app.settle()
    counts = app.page.get_by_text(re.compile(r"\d+ of \d+ run")).inner_text()
    run, listed = map(int, re.findall(r"\d+", counts))
    assert 0 < run < listed == 301
    app.page.wait_for_timeout(1500)
    assert app.page.get_by_text(counts).count() == 1


def test_the_data_button_gives_a_file_that_no_spreadsheet_executes(app: Driver, tmp_path: Path) -> None:
    app.open(VIEW, prompt=SHOWN)
    _upload(app, tmp_path, *HOSTILE)
    with app.page.expect_download() as downloading:
        _press(app, "Download prompts")
    text = Path(downloading.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["prompt"] for row in rows] == [SHOWN, "<b>x</b>", "![i](https://e.example/p.png)", "'=1+1", HOSTILE[3]]
    assert [row["label <b>no</b>"] for row in rows] == ["", "0", "1", "2", "3"]
