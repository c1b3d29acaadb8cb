"""The models written by hand, opened from the page: every page works on them, and names the heads that were written."""

import re

import pytest
from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from headlight.app.runs.prompts import examples
from headlight.recipes.teaching_weights import HEADS
from tests.e2e.driver import PROMPTED_VIEWS, Driver

SHAPES = {"teach-induction": "2 layers by 3 heads", "teach-copy": "2 layers by 2 heads"}


@pytest.mark.parametrize("name", HEADS)
def test_every_page_works_on_it(app: Driver, name: str) -> None:
    example = next(each for each in examples() if each.model == name)
    app.open(prompt="The cat sat on the mat.")
    app.open_example(example.title)
    expect(app.fed).to_contain_text(name)
    expect(app.page.get_by_text("What to look at.")).to_be_visible()
    app.settle()
    app.go_to(VIEWS[0])
    expect(app.board).to_have_attribute("aria-label", re.compile(f"^{SHAPES[name]}"))
    for view in PROMPTED_VIEWS[1:]:
        app.go_to(view)
        expect(app.fed).to_contain_text(name)
        expect(app.refused).to_have_count(0)
        if view.slug == "weights":
            app.choose("Head", "L1H0")
            expect(app.page.get_by_text(re.compile(r"Most: L0H0 with 0\.1"))).to_be_visible()
        if view.slug == "heads":
            labelled = app.page.get_by_role("row").filter(has_text="L0H0").filter(has_text="previous token")
            expect(labelled).to_be_visible()
    app.page.get_by_role("button", name="About this model").click()
    expect(app.page.get_by_text("Its weights were written by hand:")).to_be_visible()


@pytest.mark.usefixtures("own_session")
def test_a_word_that_it_does_not_know_is_named_and_the_result_before_stays(app: Driver) -> None:
    app.open(model="teach-copy", prompt="the ! fox ?")
    before = app.result_texts()
    app.run("the ! dog ?")
    expect(app.refused).to_contain_text(re.compile(r"knows 30 words and not: dog\. Use these alone: .* fox "))
    app.settle()
    assert app.result_texts() == before
