"""Headings in a browser: of the second level for every reader, explained, and never markup."""

import pytest
from playwright.sync_api import Page, expect

from tests.app.components.conftest import FIRST_DRAWING, go

PAGE = "headings_page.py"


@pytest.fixture
def page(tab: Page, address: str) -> Page:
    go(tab, address)
    expect(tab.get_by_role("heading", name="Plain")).to_be_visible(timeout=FIRST_DRAWING)
    return tab


def test_a_heading_is_one_of_the_second_level_and_its_text_no_markup(page: Page) -> None:
    assert page.get_by_role("heading", level=2).all_inner_texts() == ["<b>First</b>", "Plain"]
    page.get_by_text("another text").click()
    expect(page.get_by_role("heading", level=2)).to_have_text(["Another", "Plain"])


def test_a_line_stands_under_it_where_there_is_one_and_is_no_markup(page: Page) -> None:
    line = page.get_by_text("A <i>line</i> under it.")
    heading = page.get_by_role("heading", name="Plain")
    assert line.bounding_box()["y"] > heading.bounding_box()["y"]
    expect(page.locator(".caption:visible")).to_have_count(1)
    page.get_by_text("another text").click()
    expect(page.locator(".caption:visible")).to_have_count(0)


def test_a_question_mark_explains_it_where_there_is_something_to_explain(page: Page) -> None:
    mark = page.get_by_role("button", name="What is “<b>First</b>”?")
    assert page.locator(".explanation:visible").count() == 1
    mark.focus()
    expect(page.locator(".tooltip:popover-open")).to_contain_text("What it <i>is</i>.")
    page.keyboard.press("Tab")
    expect(page.locator(".tooltip:popover-open")).to_have_count(0)
