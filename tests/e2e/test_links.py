"""Links: the address of a page opens the same page for somebody else."""

import re

import pytest
from playwright.sync_api import expect

from headlight.app.frame.view import View
from headlight.app.selection.codecs import LONGEST_PLAIN
from tests.e2e.driver import PROMPTED_VIEWS, Driver, query_of

CHOSEN = {
    "attention": {"heads": "2.1 0.3", "queries": "9", "keys": "3", "show": "write", "side": "b", "sort": "divergence"},
    "inside": {"heads": "2.1", "queries": "9", "keys": "3", "component": "5", "convention": "column", "side": "b"},
    "why": {"heads": "2.1", "position": "9", "keys": "3", "target": " John", "distractor": " Mary", "side": "b"},
    "residual": {"position": "4"},
    "lens": {"layer": "2", "position": "6", "measure": "entropy", "target": " John", "lens": "tuned"},
    "flow": {"position": "12", "flow_threshold": "0.06", "flow_chosen": "3 12 0"},
    "mlp": {"neuron": "2.5", "position": "9", "neurons_by": "gradient", "neurons_layer": "2", "target": " John"},
    "features": {"feature": "2.5", "position": "9", "features_by": "effect"},
    "graph": {"position": "9", "graph_nodes": "0.5", "graph_node": "1_-11_9", "graph_against": "mean"},
    "generate": {"heads": "2.1", "n_new": "6", "temperature": "0.5", "top_k": "20", "seed": "3", "step": "2"},
    "patching": {"patch_map": "resid_pre", "patch_into": "B", "target": " John", "distractor": " Mary"},
    "heads": {"finder_score": "previous_token", "finder_top": "3", "finder_count": "4", "finder_half": "9"},
    "weights": {"heads": "1.1", "circuit": "ov", "circuit_token": " John"},
    "corpus": {"heads": "1.1 0.1", "corpus_by": "prev_token_score", "corpus_across": "qk_distance", "sequence": "1"},
    "prompts": {"statistic": "entropy", "statistic_head": "1.3"},
}
COMPARED = {
    "prompt": "When Mary and John went to the shop, John gave a drink to",
    "prompt_b": "When Mary and John went to the shop, Mary gave a drink to",
    "align": "position",
    "bos": "0",
}


@pytest.mark.parametrize("view", PROMPTED_VIEWS, ids=lambda view: view.slug)
def test_a_link_opens_the_same_page_elsewhere(app: Driver, elsewhere: Driver, view: View) -> None:
    app.open(view, **COMPARED, **CHOSEN[view.slug])
    link = app.page.url
    for name, value in CHOSEN[view.slug].items():
        assert f"{name}={value.replace(' ', '+')}" in link
    elsewhere.page.goto(link)
    elsewhere.becomes(app.picture())
    assert elsewhere.page.url == link


def test_a_choice_made_by_hand_is_in_the_link_at_once(app: Driver) -> None:
    app.open(prompt=COMPARED["prompt"])
    app.choose("First token", "hidden")
    app.page.wait_for_url(lambda url: "sink=hide" in url)
    app.reveal(app.page.get_by_role("switch", name="Own scale each")).click()
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
    app.open(view, **COMPARED, **CHOSEN[slug])
    link, picture = app.page.url, app.picture()
    without = {name: value for name, value in COMPARED.items() if name != "prompt"}
    app.page.goto(f"{app.url}/?{query_of(view, **without, **CHOSEN[slug], left_out='prompt')}")
    expect(app.page.get_by_text("This link does not hold prompt A")).to_be_visible()
    expect(app.refused).to_have_count(0)
    app.settle()
    app.page.get_by_role("textbox", name="Prompt A").fill(COMPARED["prompt"])
    app.page.locator(".st-key-headlight-bar").get_by_role("button", name="Run").click()
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
