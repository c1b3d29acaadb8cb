"""Turns of a conversation in a browser: typed, added, moved and removed by pointer and by key, told at Run."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.components.conftest import FIRST_DRAWING, go

PAGE = "turns_page.py"


@pytest.fixture
def page(tab: Page, address: str) -> Page:
    go(tab, address)
    expect(_text(tab, 1)).to_have_value("one <b>two</b>", timeout=FIRST_DRAWING)
    return tab


def _text(page: Page, number: int) -> Locator:
    return page.get_by_role("textbox", name=f"Turn {number}", exact=True)


def _ending(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Then")


def _says(page: Page, ending: str, *turns: tuple[str, str], thinks: bool | None = None) -> None:
    messages = [{"role": role, "content": content} for role, content in turns]
    expected: dict[str, Any] = {"messages": messages, "ending": ending, "thinks": thinks}
    expect(page.get_by_test_id("stText")).to_have_text(json.dumps(expected))


def test_turns_are_typed_added_moved_and_removed_by_key(page: Page) -> None:
    expect(_ending(page)).to_have_value("continue")
    page.get_by_role("button", name="Add turn").press("Enter")
    expect(_text(page, 3)).to_be_focused()
    page.keyboard.type("four")
    expect(_ending(page)).to_have_value("answer")  # by itself, behind a user's turn
    _says(page, "continue", ("user", "one <b>two</b>"), ("assistant", "three"))  # nothing before Run
    page.keyboard.press("Control+Enter")
    _says(page, "answer", ("user", "one <b>two</b>"), ("assistant", "three"), ("user", "four"))
    _text(page, 3).press("Alt+ArrowUp")
    expect(_text(page, 2)).to_be_focused()
    expect(_text(page, 2)).to_have_value("four")
    page.get_by_role("button", name="Remove turn 1").press("Enter")
    page.get_by_role("combobox", name="Role of turn 1").select_option("system")
    page.get_by_role("combobox", name="Thinking").select_option("off")
    page.get_by_role("button", name="Run").click()
    _says(page, "continue", ("system", "four"), ("assistant", "three"), thinks=False)


def test_what_is_new_and_what_differs_from_the_other_is_marked(page: Page) -> None:
    rows = page.locator(".turn")
    expect(page.locator(".turn:is([data-not-run], [data-differs])")).to_have_count(0)
    _text(page, 2).fill("four")
    expect(rows.nth(1)).to_have_attribute("data-not-run", "")
    expect(rows.nth(1)).to_have_attribute("data-differs", "")
    page.get_by_role("button", name="Run").click()
    _says(page, "continue", ("user", "one <b>two</b>"), ("assistant", "four"))
    expect(page.locator(".turn[data-not-run]")).to_have_count(0)
    expect(rows.nth(1)).to_have_attribute("data-differs", "")
    page.get_by_role("button", name="Remove turn 2").click()
    expect(page.get_by_role("button", name="Remove turn 1")).to_be_disabled()  # one stays
