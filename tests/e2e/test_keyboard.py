"""Every picture without a pointer: what the keys do, and what a screen reader is told."""

import re

import pytest
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver

PROMPT = "The keys to the cabinet"


def _told(app: Driver, within: Locator, said: str) -> None:
    """Wait for the live text beside a picture."""
    expect(
        within.locator("xpath=ancestor-or-self::*").locator("[aria-live]").filter(has_text=re.compile(said)).first
    ).to_be_attached()


def test_heads_are_chosen_and_cells_pinned_by_key(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="0.0")
    app.board.focus()
    app.page.keyboard.press("End")
    _told(app, app.board, "L3H3|L0H3")
    app.page.keyboard.press("Enter")
    expect(app.panels).to_have_count(2)
    cells = app.page.get_by_role("application", name=re.compile("^attention weight of"))
    cells.focus()
    app.page.keyboard.press("Control+End")
    _told(app, cells, "weight")
    app.page.wait_for_url(re.compile(r"queries=\d+&keys=\d+"))
    app.page.keyboard.press("Escape")
    app.page.wait_for_url(re.compile(r"^(?!.*queries=)"))


def test_tokens_are_walked_and_pinned_by_key(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="0.0")
    app.page.get_by_role("listbox", name=re.compile("^Tokens")).focus()
    app.page.keyboard.press("End")
    app.page.keyboard.press("ArrowLeft")
    app.page.keyboard.press("Enter")
    app.page.wait_for_url(re.compile(r"queries=\d+"))
    app.page.keyboard.press("Escape")
    app.page.wait_for_url(re.compile(r"^(?!.*queries=)"))


def test_keys_go_on_from_the_token_that_they_pinned(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="0.0")
    tokens = app.page.get_by_role("listbox", name=re.compile("^Tokens"))
    tokens.focus()
    for key in ("End", "ArrowLeft", "ArrowLeft", "Enter"):
        app.page.keyboard.press(key)
    last = app.chips.count() - 1
    app.page.wait_for_url(re.compile(rf"queries={last - 2}(&|$)"))
    app.settle()  # the pin's run has brought new lists
    app.page.keyboard.press("ArrowRight")
    expect(app.chips.nth(last - 1)).to_have_class(re.compile("hovered"))
    expect(tokens).to_have_attribute("aria-activedescendant", f"token-0-{last - 1}")


def test_tokens_of_a_long_prompt_are_walked_across_its_blocks(app: Driver) -> None:
    """A block tells its first place; what is out of sight is reached by key, and is then in sight."""
    app.open(prompt=" the cat" * 100, heads="0.0")
    assert app.page.locator(".block").evaluate_all("blocks => blocks.map(block => block.dataset.start)") == ["0", "128"]
    tokens = app.page.get_by_role("listbox", name=re.compile("^Tokens"))
    tokens.focus()
    app.page.keyboard.press("Home")
    for _ in range(60):  # more lines than there are
        app.page.keyboard.press("ArrowDown")
    place = tokens.evaluate("tokens => Number(tokens.getAttribute('aria-activedescendant').split('-').at(-1))")
    assert place > 128
    expect(app.chips.nth(place)).to_be_in_viewport()
    below = "([first, second]) => first.getBoundingClientRect().top - second.getBoundingClientRect().top"
    last, here = app.chips.last.element_handle(), app.chips.nth(place).element_handle()
    assert app.page.evaluate(below, [last, here]) == 0  # the last line
    app.page.keyboard.press("Enter")
    app.page.wait_for_url(re.compile(rf"queries={place}(&|$)"))


@pytest.mark.usefixtures("own_session")
def test_tokens_that_come_into_sight_get_the_colours_that_they_missed(app: Driver) -> None:
    """The pointer on a token colours those in sight, by their attention; the others as soon as they are scrolled to."""
    app.page.set_viewport_size({"width": 600, "height": 1600})  # the whole strip, so that the wheel turns it alone
    app.open(prompt=" the cat" * 100, heads="0.0")
    colours = "chips => chips.map(chip => chip.style.background)"
    app.page.get_by_role("radio", name="to the token").check(force=True)
    before = app.chips.evaluate_all(colours)
    app.chips.first.scroll_into_view_if_needed()  # at first the last token is in sight, from which it is looked
    expect(app.chips.last).not_to_be_in_viewport()
    app.chips.nth(3).hover()
    expect(app.chips.nth(3)).to_have_class(re.compile("hovered"))
    seen = app.chips.evaluate_all(colours)
    assert all(seen[3:100])
    assert seen[-10:] == before[-10:]
    app.page.mouse.wheel(0, 2000)  # to the end of the strip
    expect(app.chips.last).to_be_in_viewport()
    app.page.wait_for_function(
        f"([last, before]) => ({colours})([last])[0] !== before", arg=[app.chips.last.element_handle(), before[-1]]
    )


def test_cells_of_the_lens_are_walked_by_key(app: Driver) -> None:
    """Of a table that is wider than the window, too, the cell looked at is in sight: at first the last one."""
    app.open(next(view for view in VIEWS if view.slug == "lens"), prompt=" ".join([PROMPT] * 5))
    cells = app.page.get_by_role("application", name=re.compile("^Logit lens"))
    hidden = "cells => [cells.scrollLeft, cells.scrollWidth - cells.clientWidth - cells.scrollLeft].map(Math.round)"
    before, behind = cells.evaluate(hidden)
    assert before > 0 == behind
    cells.focus()
    app.page.keyboard.press("Home")
    app.page.wait_for_url(re.compile(r"position=0"))
    assert cells.evaluate(hidden)[0] == 0
    app.page.keyboard.press("ArrowDown")
    app.page.wait_for_url(re.compile(r"layer=3"))
    _told(app, cells, "L2|layer|%")
