"""The steps of a text in a browser: what chips and bars say, which step is looked at, and what is asked for."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headlight.app.components import StepClick, clicked
from tests.app.components.conftest import FIRST_DRAWING, go
from tests.app.components.panels import tooltip
from tests.app.components.token_bars_page import HOSTILE, LABELS, steps

PAGE = "token_bars_page.py"
Open = Callable[..., Page]


@pytest.fixture
def open_bars(tab: Page, address: str) -> Open:
    """Opens the page with six steps, or as a query says."""

    def opened(query: str = "") -> Page:
        go(tab, f"{address}&{query}")
        expect(tab.locator(".chip").first).to_be_visible(timeout=FIRST_DRAWING)
        return tab

    return opened


def expect_click(page: Page, step: int, token: int | None = None) -> None:
    expect(page.get_by_text(f"asked ({step}, {token})")).to_be_visible()


def rows(page: Page) -> Locator:
    return page.locator(".row")


def test_what_nobody_touched_is_the_servers_step() -> None:
    assert clicked(4, 0, "untouched") == StepClick(4, None)


def test_tokens_stay_text_and_numbers_are_told(open_bars: Open) -> None:
    page = open_bars()
    assert page.locator(".chip").all_text_contents() == [each.label for each in steps(6)]
    assert page.locator("img[src=x]").count() == 0
    expect(page.locator(".tail .word")).to_have_count(25)  # an ellipsis and the last 24
    expect(page.locator(".tail .word").first).to_have_text("…")
    expect(page.locator(".facts")).to_have_text(
        f"Sampled “{HOSTILE}” · log-probability −0.69 nats · entropy 1.25 nats (0.50 nats after temperature and cuts)"
    )
    assert rows(page).locator(".token").all_text_contents() == LABELS[:4]
    shares = ["50.00% → 80.00%", "25.00% → 20.00%", "20.00% → cut", "5.00% → cut"]
    assert rows(page).locator(".share").all_text_contents() == shares
    expect(rows(page).locator(".mark")).to_have_text(["◆", "", "", ""])  # not by colour alone
    rows(page).nth(2).hover()
    assert tooltip(page) == {
        "title": "שלום",
        "the model's own": "0.2000",
        "sampled with": "cut",
        "log-probability": "−1.609 nats",
        "rank": "3",
        "": "Click: insert it here",
    }
    page.locator(".chip").nth(1).hover()
    assert tooltip(page)["probability"] == "0.2500"
    assert tooltip(page)[""] == "inserted by you"


def test_bars_are_as_long_as_their_probabilities(open_bars: Open) -> None:
    page = open_bars()
    widths = {
        name: page.locator(f".track .{name}").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
        for name in ("before", "after")
    }
    longest = widths["after"][0]
    # A browser rounds to 1/64 of a pixel; a bar has at least one pixel.
    assert widths["before"] == pytest.approx([longest * share / 0.8 for share in (0.5, 0.25, 0.2, 0.05)], abs=0.1)
    assert widths["after"][1] == pytest.approx(longest / 4, abs=0.1)


def test_a_click_looks_at_a_step_or_asks_for_a_token(open_bars: Open) -> None:
    page = open_bars()
    page.locator(".chip").nth(3).click()
    expect_click(page, 3)
    expect(page.get_by_text("Step 4 of 6")).to_be_visible()
    expect(page.locator(".chip.chosen")).to_have_count(1)
    rows(page).nth(1).click()
    expect_click(page, 3, 31)
    page.get_by_role("button", name="first").click()  # the server takes the step back
    expect_click(page, 0)
    expect(page.get_by_text("Step 1 of 6")).to_be_visible()
    expect(page.get_by_role("button", name="the step before")).to_be_disabled()
    page.get_by_role("button", name="the next step").click()
    expect_click(page, 1)


def test_steps_and_tokens_are_walked_by_key_and_read_aloud(open_bars: Open) -> None:
    page = open_bars()
    line = page.get_by_role("listbox", name="6 tokens generated")
    line.focus()
    for press, step in [("ArrowLeft", 0), ("ArrowRight", 1), ("End", 5), ("ArrowRight", 5), ("Home", 0)]:
        page.keyboard.press(press)
        expect(line).to_have_attribute("aria-activedescendant", f"step-{step}")
    page.keyboard.press("ArrowRight")
    expect_click(page, 1)
    expect(page.locator(".live")).to_contain_text("step 2: Inserted “שלום”")
    expect(page.get_by_role("option", name="step 2: שלום, inserted by you")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Tab")  # the step before
    page.keyboard.press("Tab")  # the next step
    page.keyboard.press("Tab")
    bars = page.get_by_role("listbox", name="The likeliest tokens of step 2")
    expect(bars).to_be_focused()
    for press, place in [("ArrowDown", 0), ("ArrowDown", 1), ("End", 3), ("ArrowDown", 3), ("ArrowUp", 2)]:
        page.keyboard.press(press)
        expect(bars).to_have_attribute("aria-activedescendant", f"choice-{place}")
    expect(page.locator(".live")).to_contain_text("␣the, 20%, after the cuts cut")
    page.keyboard.press("Enter")
    expect_click(page, 1, 12)
    page.keyboard.press("ArrowRight")
    expect_click(page, 2)


def test_a_run_b_stands_beside_it_with_the_signed_difference(open_bars: Open) -> None:
    page = open_bars("beside=1")
    expect(page.locator(".names")).to_have_text("ABB − A")
    first = rows(page).first
    assert first.locator(".share").all_text_contents() == ["50% → 80%", "25%", "−25 → −55"]
    widths = page.locator(".signed .before").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    # B − A of the models' own: −0.25, 0.25, −0.15, 0.15; of what is drawn from the farthest is −0.55, half the track.
    assert widths[:2] == pytest.approx([widths[0]] * 2, abs=0.1)
    assert widths[2] / widths[0] == pytest.approx(0.15 / 0.25, abs=0.01)
    sides = [
        set(bar.split()) & {"less", "more"}
        for bar in page.locator(".signed .before").evaluate_all("bars => bars.map(bar => bar.className)")
    ]
    assert sides == [{"less"}, {"more"}, {"less"}, {"more"}]
    levels = page.locator(".apart .level").evaluate_all("all => all.map(each => each.style.height)")
    assert levels == ["50%"] * 5  # a quarter of the most, by its square root
    expect(page.locator(".beside .chip")).to_have_count(6)
    page.locator(".apart .column").nth(2).click()
    expect_click(page, 2)
    page.locator(".chips").first.locator(".chip").nth(5).click()
    expect(page.locator(".names")).to_be_hidden()  # B has no such step
    rows(page).first.hover()
    assert "B: the model's own" not in tooltip(page)


def test_in_a_file_steps_are_looked_at_and_nothing_is_asked_for(open_bars: Open) -> None:
    page = open_bars("file=1")
    page.locator(".chip").nth(2).click()
    expect_click(page, 2)
    rows(page).nth(0).click()
    rows(page).nth(1).hover()
    assert "" not in tooltip(page)
    expect_click(page, 2)


def test_a_dark_phone_shows_many_steps_without_scrolling_sideways(browser: Browser, address: str) -> None:
    context = browser.new_context(
        color_scheme="dark", viewport={"width": 390, "height": 844}, device_scale_factor=3, has_touch=True
    )
    page = context.new_page()
    page.goto(f"{address}&steps=64")
    expect(page.locator(".chip").first).to_be_visible(timeout=FIRST_DRAWING)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    row, track = (page.locator(name).first.evaluate("box => box.clientWidth") for name in (".row", ".row .track"))
    assert track > row / 2  # its numbers stand below it
    page.locator(".chip").nth(63).tap()
    expect_click(page, 63)
    context.close()
