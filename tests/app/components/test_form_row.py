"""A row of options in a form: what is chosen is told when the form is submitted, and gives way to another epoch."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.components.conftest import FIRST_DRAWING, go
from tests.app.components.options import LABELS, OFFERED

PAGE = "form_page.py"
BEGUN: dict[str, Any] = {"model": "small", "bos": True, "beams": 4, "epoch": 0}
OWN = "~/models/my own"
SCRIPT = 20_000  # bytes, of which its script has more, compressed as it is sent


@pytest.fixture
def page(tab: Page, address: str) -> Page:
    """The page, opened."""
    go(tab, address)
    expect(_model(tab)).to_be_visible(timeout=FIRST_DRAWING)
    _says(tab)
    return tab


def _model(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Model", exact=True)


def _says(page: Page, **changed: object) -> None:
    said = " ".join(f"{name}={value!r}" for name, value in {**BEGUN, **changed}.items())
    expect(page.get_by_test_id("stText").first).to_have_text(said)


def _press(page: Page, name: str) -> None:
    """Press a button, and wait until its run has ended."""
    drawn = page.get_by_test_id("stText").last
    before = int(drawn.inner_text().split()[1])
    page.get_by_role("button", name=name).click()
    expect(drawn).to_have_text(f"drawn {before + 1} times")


def _shown(page: Page) -> tuple[str, bool, str]:
    switch, beams = page.get_by_role("switch", name="BOS"), page.get_by_role("spinbutton", name="Beams")
    return _model(page).input_value(), switch.is_checked(), beams.input_value()


def _choose(page: Page) -> None:
    """Another of each."""
    _model(page).fill(OWN)
    page.get_by_role("switch", name="BOS").click()
    page.get_by_role("spinbutton", name="Beams").fill("7")


def test_what_is_chosen_is_told_when_the_form_is_submitted(page: Page) -> None:
    _choose(page)
    _press(page, "Again")
    _says(page)
    assert _shown(page) == (OWN, False, "7")
    _press(page, "Run")
    _says(page, model=OWN, bos=False, beams=7, ran=OWN)
    assert _shown(page) == (OWN, False, "7")
    page.get_by_role("switch", name="BOS").click()
    _press(page, "Run")
    _says(page, model=OWN, beams=7, ran=OWN)


def test_the_keys_that_submit_take_along_what_is_just_typed(page: Page) -> None:
    for key in ("End", "!", "Control+Enter"):
        _model(page).press(key)
    _says(page, model="small!", ran="small!")
    expect(_model(page)).to_be_focused()
    for key in ("End", "Backspace", "2", "Control+Enter"):
        page.get_by_role("spinbutton", name="Beams").press(key)
    _says(page, model="small!", beams=2, ran="small!")


def test_what_was_not_submitted_gives_way_to_another_epoch(page: Page) -> None:
    _choose(page)
    _press(page, "Another epoch")
    _says(page, epoch=1)
    assert _shown(page) == ("small", True, "4")
    _press(page, "Run")
    _says(page, epoch=1, ran="small")
    assert _shown(page) == ("small", True, "4")
    _choose(page)
    _press(page, "Run")
    _says(page, model=OWN, bos=False, beams=7, epoch=1, ran=OWN)


def test_all_that_is_offered_is_listed_once_the_line_is_pressed(page: Page) -> None:
    model = _model(page)
    listed = model.evaluate("line => Array.from(line.list.options, (option) => option.value)")
    assert listed == OFFERED
    labels = model.evaluate("line => Array.from(line.list.options, (option) => option.label)")
    assert labels == [LABELS.get(name, name) for name in OFFERED]
    assert page.locator("img[src=x]").count() == 0
    model.click()
    expect(model).to_have_value("")  # or the browser would list what has "small" in it
    expect(page.get_by_placeholder("small")).to_be_focused()
    page.get_by_role("button", name="Again").focus()
    expect(model).to_have_value("small")
    model.fill(OWN)
    model.blur()
    model.click()
    expect(model).to_have_value(OWN)  # which may be gone on with
    model.fill("  ")
    model.blur()
    expect(model).to_have_value(OWN)
    _press(page, "Run")
    _says(page, model=OWN, ran=OWN)


def test_tab_goes_through_the_line_and_an_arrow_lists_what_is_offered(page: Page) -> None:
    model = _model(page)
    model.focus()
    expect(model).to_have_value("small")
    page.keyboard.press("ArrowDown")
    expect(model).to_have_value("")
    page.keyboard.press("Tab")
    expect(model).to_have_value("small")


def test_on_a_phone_a_button_says_what_is_chosen_and_opens_it(page: Page) -> None:
    _model(page).fill(OWN)
    page.set_viewport_size({"width": 390, "height": 800})
    opener = page.locator(".opener")
    expect(opener).to_have_text("my own · BOS · Beams 4")  # the model as it was typed, by the end of its path
    expect(_model(page)).not_to_be_visible()
    opener.click()
    page.get_by_role("switch", name="BOS").click()
    expect(opener).to_have_text("my own · no BOS · Beams 4")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1280, "height": 1000})
    expect(opener).not_to_be_attached()
    expect(_model(page)).to_be_visible()


def test_its_script_does_not_come_again_once_it_was_submitted(tab: Page, address: str) -> None:
    received = list[int]()
    tab.on("websocket", lambda line: line.on("framereceived", lambda frame: received.append(len(frame))))
    go(tab, address)
    expect(_model(tab)).to_be_visible(timeout=FIRST_DRAWING)
    assert max(received) > SCRIPT
    _press(tab, "Run")
    received.clear()
    _choose(tab)
    _press(tab, "Run")
    assert max(received) < SCRIPT
    assert _shown(tab) == (OWN, False, "7")
    tab.reload()
    expect(_model(tab)).to_be_visible(timeout=FIRST_DRAWING)
