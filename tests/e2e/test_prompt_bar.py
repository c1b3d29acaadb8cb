"""What stands in the prompt bar and was not run yet: how long it stays, and what takes its place."""

import re

import pytest
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from headlight.app.runs.prompts import examples
from tests.e2e.driver import Driver

PROMPT = "The cat sat on the mat."
LENS, TRANSLATE = (next(view for view in VIEWS if view.slug == slug) for slug in ("lens", "translate"))


def _model(app: Driver) -> Locator:
    return app.page.get_by_role("combobox", name="Model", exact=True)


def _bos(app: Driver) -> Locator:
    return app.page.get_by_role("switch", name="BOS token")


def _choose(app: Driver) -> None:
    _bos(app).click()
    _model(app).fill("teach-copy")
    _model(app).press("Tab")


@pytest.fixture
def opened(app: Driver) -> Driver:
    """The page with another model and no BOS token chosen, and not run."""
    app.open(prompt=PROMPT)
    expect(_bos(app)).to_be_checked()
    _choose(app)
    return app


def test_it_is_run_together_with_the_prompt(opened: Driver) -> None:
    opened.run("the fox found a key")
    expect(opened.fed).to_contain_text("teach-copy · 5 input tokens without BOS")
    opened.settle()
    expect(_bos(opened)).not_to_be_checked()
    expect(_model(opened)).to_have_value("teach-copy")
    opened.page.go_back()
    expect(opened.fed).to_contain_text("with BOS")
    opened.settle()
    expect(_bos(opened)).to_be_checked()
    expect(_model(opened)).to_have_value("mini")


def test_it_stays_on_another_page_of_the_same_bar(opened: Driver) -> None:
    opened.go_to(LENS)
    expect(_bos(opened)).not_to_be_checked()
    expect(_model(opened)).to_have_value("teach-copy")
    expect(opened.fed).to_contain_text("mini")


def test_an_example_takes_its_place(opened: Driver) -> None:
    opened.open_example(examples()[0].title)
    expect(opened.prompt).to_have_value(examples()[0].prompt)
    opened.settle()
    for _ in range(2):
        expect(_bos(opened)).to_be_checked()
        expect(_model(opened)).to_have_value("mini")
        opened.run(PROMPT)  # nor does it come back with what is run next
        opened.settle()
    expect(opened.fed).to_contain_text("mini")
    expect(opened.fed).to_contain_text("with BOS")


def test_a_page_with_another_bar_ends_it(opened: Driver) -> None:
    opened.prompt.fill("the fox")
    opened.go_to(TRANSLATE)
    opened.go_to(LENS)
    expect(opened.prompt).to_have_value(PROMPT)
    expect(_bos(opened)).to_be_checked()
    expect(_model(opened)).to_have_value("mini")
    opened.run("The cat sat")
    expect(opened.fed).to_contain_text("4 input tokens with BOS")


def test_a_page_with_another_bar_ends_what_was_refused(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.open_model("nosuch")
    expect(app.refused).to_have_count(1)
    app.go_to(TRANSLATE)
    app.go_to(LENS)
    expect(_model(app)).to_have_value("mini")


def test_it_is_run_by_a_server_that_forgot_the_session(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.run("the fox")
    expect(app.fed).to_contain_text("3 input tokens")
    app.settle()
    _choose(app)
    app.clear_caches()
    app.run("the fox found a key")
    expect(app.fed).to_contain_text("teach-copy · 5 input tokens without BOS")
    app.settle()
    expect(_bos(app)).not_to_be_checked()
    expect(_model(app)).to_have_value("teach-copy")
    expect(app.prompt).to_have_value("the fox found a key")


@pytest.mark.parametrize(("width", "b"), [(900, {}), (1024, {"prompt_b": PROMPT})], ids=["alone", "compared"])
def test_run_is_not_covered_by_the_text_that_is_typed(app: Driver, width: int, b: dict[str, str]) -> None:
    """As tests/e2e/test_pages.py holds for a phone on every page."""
    app.page.set_viewport_size({"width": width, "height": 900})
    app.open(prompt=PROMPT, **b)
    app.page.get_by_role("textbox", name=re.compile("^Prompt")).last.fill("The dog")
    app.run_button.click()
    expect(app.fed.last).to_contain_text("3 input tokens")


@pytest.mark.parametrize("width", [1024, 390])
def test_run_is_not_covered_by_the_source_that_is_typed(app: Driver, width: int) -> None:
    app.page.set_viewport_size({"width": width, "height": 900})
    app.open(TRANSLATE)
    app.page.get_by_role("textbox", name="Source").fill("der Mann sieht den Hund .")
    app.run_button.click()
    app.page.wait_for_url(re.compile("source=der"))


NOT_RUN = "[data-not-run]"


def test_what_is_not_run_yet_is_marked_and_the_keys_that_run_it_close_the_text(app: Driver) -> None:
    app.open(prompt=PROMPT)
    expect(app.page.locator(NOT_RUN)).to_have_count(0)
    _choose(app)  # the model and the switch
    expect(app.page.locator(NOT_RUN)).to_have_count(2)
    app.prompt.fill("the fox found a key")
    expect(app.page.locator(f"textarea{NOT_RUN}")).to_have_count(1)
    app.prompt.fill(PROMPT)
    expect(app.page.locator(f"textarea{NOT_RUN}")).to_have_count(0)
    _bos(app).click()
    app.prompt.fill("the fox found a key")
    opened = app.prompt.bounding_box()
    app.prompt.press("Control+Enter")
    expect(app.fed).to_contain_text("teach-copy · 6 input tokens with BOS")
    app.settle()
    expect(app.prompt).not_to_be_focused()
    closed = app.prompt.bounding_box()
    assert opened
    assert closed
    assert closed["height"] < opened["height"] / 2
    expect(app.page.locator(NOT_RUN)).to_have_count(0)


def test_the_prediction_is_seen_whole_on_a_phone(app: Driver) -> None:
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.open(prompt=PROMPT)
    links = app.fed.get_by_role("button", name=re.compile("[“⟨]")).all()
    assert len(links) == 3
    for part in [*app.fed.get_by_test_id("stText").all(), *links]:
        box = part.bounding_box()
        assert box
        assert box["x"] + box["width"] <= 390
    parts = "(line) => [line.scrollWidth - line.clientWidth, line.scrollLeft]"
    assert app.fed.evaluate(parts) == [0, 0]
