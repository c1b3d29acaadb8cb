"""Links: the address of a page opens the same page for somebody else."""

import re

import pytest
from playwright.sync_api import expect

from headlight.app.selection.codecs import LONGEST_PLAIN
from tests.e2e.driver import PROMPTED_VIEWS, Driver, query_of
from tests.e2e.screenshots import COMPARED
from tests.e2e.test_compared import CHOSEN, ELSE


def test_a_choice_made_by_hand_is_in_the_link_at_once(app: Driver) -> None:
    app.open(prompt=COMPARED["prompt"])
    app.choose("First token", "hidden")
    app.page.wait_for_url(lambda url: "sink=hide" in url)
    app.reveal(app.page.get_by_role("switch", name="Scale per head")).click()
    app.page.wait_for_url(lambda url: "own_scale=1" in url)


def test_a_long_prompt_is_compressed_in_the_link(app: Driver, elsewhere: Driver) -> None:
    prompt = " representation" * 120
    assert len(prompt) > LONGEST_PLAIN
    app.open(prompt=COMPARED["prompt"])
    app.run(prompt)
    app.page.wait_for_url(lambda url: "prompt=%7E" in url or "prompt=~" in url)
    assert len(app.page.url) < 500
    elsewhere.page.goto(app.page.url)
    expect(elsewhere.prompt).to_have_value(prompt)


@pytest.mark.parametrize("slug", ["attention", "lens"])
def test_what_came_with_a_link_is_there_once_the_prompt_that_it_left_out_is_pasted(app: Driver, slug: str) -> None:
    view = next(view for view in PROMPTED_VIEWS if view.slug == slug)
    chosen = COMPARED | ELSE | CHOSEN[slug]
    app.open(view, **chosen)
    link, picture = app.page.url, app.picture()
    without = {name: value for name, value in chosen.items() if name != "prompt"}
    app.page.goto(f"{app.url}/?{query_of(view, **without, left_out='prompt')}")
    expect(app.page.get_by_text("This link does not contain prompt A")).to_be_visible()
    expect(app.refused).to_have_count(0)
    app.settle()
    app.page.get_by_role("textbox", name="Prompt A").fill(COMPARED["prompt"])
    app.run_button.click()
    app.becomes(picture)
    app.page.wait_for_url(link)


def test_what_is_refused_is_named_and_a_long_prompt_hides_nothing(app: Driver) -> None:
    app.open(prompt="\n\t the cat" * 50)
    app.run("")
    expect(app.page.get_by_text("Below is still the result for the previous prompt:")).to_be_visible()
    quoted = app.page.get_by_test_id("stText").filter(has_text="↵⇥␣the␣cat")
    expect(quoted).to_have_text(re.compile("^(↵⇥␣the␣cat)+.*…$"))
    box = quoted.bounding_box()
    assert box
    assert box["height"] < 80  # two lines
    expect(app.fed).to_be_in_viewport()
