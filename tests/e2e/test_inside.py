"""*Head internals* in a real browser: choices, both conventions, and a number followed to the attention page's."""

import re

import pytest
import torch
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from headlight.model import Transformer, load
from tests.e2e.driver import Driver

PROMPT = "The cat sat on the mat. The cat sat on the mat."
LAYER, HEAD, QUERY, KEY = 1, 2, 10, 3
INSIDE = next(view for view in VIEWS if view.slug == "inside")
CHOSEN = {"prompt": PROMPT, "heads": f"{LAYER}.{HEAD}", "queries": str(QUERY), "keys": str(KEY)}


@pytest.fixture(scope="module")
def mini() -> Transformer:
    return load("mini")


def _step(app: Driver, name: str) -> Locator:
    return app.page.get_by_role("region", name=name, exact=True)


# The rows of so many whose left edge has the pin's colour.
MARKED_ROWS = """(canvas, rows) => {
    const context = canvas.getContext("2d");
    const probe = canvas.parentElement.appendChild(document.createElement("i"));
    probe.style.color = "var(--pin)";
    context.fillStyle = getComputedStyle(probe).color;
    probe.remove();
    const hex = (row) => [...context.getImageData(0, ((row + 0.5) * canvas.height) / rows, 1, 1).data.slice(0, 3)]
        .map((value) => value.toString(16).padStart(2, "0")).join("");
    return [...Array(rows).keys()].filter((row) => `#${hex(row)}` === context.fillStyle);
}"""


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _weight(app: Driver) -> float:
    """What the softmax comes to for the followed key."""
    line = _step(app, "Softmax").locator(".spelled p").last.inner_text()
    match = re.search(r"= (\S+), the attention weight", line)
    assert match
    return _number(match[1])


def test_the_number_followed_is_the_attention_pages_and_the_models(app: Driver, mini: Transformer) -> None:
    app.open(INSIDE, **CHOSEN)
    weight = _weight(app)
    tokens = mini.to_tokens(PROMPT, prepend_bos=True)
    with torch.inference_mode():
        pattern = mini.run_with_cache(tokens)[1]["pattern", LAYER][0, HEAD]
    assert weight == pytest.approx(float(pattern[QUERY, KEY]), rel=5e-4)  # four digits are shown
    score = _number(_step(app, "Scale").locator("td.followed").last.inner_text())
    app.go_to(VIEWS[0])
    tooltip = app.point_at(QUERY, KEY, tokens.shape[1]).replace("−", "-").split("\n")
    # Four digits, of weights coded to 65,533 steps of their logarithm.
    assert float(tooltip[tooltip.index("weight") + 1]) == pytest.approx(weight, rel=2e-3)
    app.open(prompt=PROMPT, heads=f"{LAYER}.{HEAD}", show="score")
    tooltip = app.point_at(QUERY, KEY, tokens.shape[1]).replace("−", "-").split("\n")
    assert float(tooltip[tooltip.index("score") + 1]) == pytest.approx(score, rel=2e-3)  # as above


def test_head_query_key_and_component_are_chosen_by_lists(app: Driver) -> None:
    app.open(INSIDE, **CHOSEN)
    before = app.picture()
    app.choose("Head", "L2H1")
    app.page.wait_for_url(re.compile(r"heads=2\.1"))
    expect(app.page.get_by_role("heading", name="Inside L2H1")).to_be_visible()
    app.changed_from(before)
    app.choose("Query token", "6 ␣m")
    app.page.wait_for_url(re.compile("queries=6"))
    app.choose("Follow key", "2 ␣cat")
    expect(_step(app, "Scale").locator(".spelled")).to_contain_text("Key 2:")
    app.choose("and component", "7")
    expect(_step(app, "Query").locator(".spelled")).to_contain_text("q[7] = Σ")
    app.page.wait_for_url(re.compile(r"keys=2&component=7"))


def test_a_click_on_a_key_or_on_a_matrix_follows_that_one(app: Driver) -> None:
    app.open(INSIDE, **CHOSEN)
    _step(app, "Mask").get_by_role("button", name=re.compile(r"^follow key 5\b")).first.click()
    app.page.wait_for_url(re.compile("keys=5"))
    expect(_step(app, "Softmax").locator(".spelled")).to_contain_text("Key 5:")
    expect(app.page.get_by_role("combobox", name="Follow key")).to_have_value(re.compile(r"^5 "))
    _step(app, "Query").get_by_role("img", name=re.compile("^q, ")).click(position={"x": 1, "y": 8})
    app.page.wait_for_url(re.compile("component=0"))
    expect(_step(app, "Dot products").locator(".spelled")).to_contain_text("of which i = 0 gives")
    expect(_step(app, "Dot products").locator(".spelled")).to_contain_text("Key 5:")


def test_keys_are_walked_and_chosen_by_the_keyboard(app: Driver) -> None:
    app.open(INSIDE, **CHOSEN)
    _step(app, "Mask").get_by_role("button", name=re.compile(r"^follow key 4\b")).first.focus()
    app.page.keyboard.press("Enter")
    expect(_step(app, "Scale").locator(".spelled")).to_contain_text("Key 4:")
    _step(app, "Softmax").get_by_role("button", name="What is “Softmax”?").focus()
    expect(app.page.locator(".tooltip:popover-open")).to_contain_text("add up to 1")


def test_a_token_is_a_row_or_a_column(app: Driver) -> None:
    app.open(INSIDE, **CHOSEN)
    formula, shapes = _step(app, "Query").locator(".words .formula"), _step(app, "Query").locator(".shape")
    expect(formula).to_have_text("q = x̂ WQ + bQ")
    assert shapes.all_inner_texts() == ["1 × 128", "128 × 32", "1 × 32", "1 × 32"]
    weight = _weight(app)
    app.reveal(app.page.get_by_role("radio", name="a column")).click()
    expect(formula).to_have_text("q = WQᵀ x̂ + bQ")
    assert shapes.all_inner_texts() == ["32 × 128", "128 × 1", "32 × 1", "32 × 1"]
    assert _weight(app) == weight
    app.page.wait_for_url(re.compile("convention=column"))


def test_a_matrix_tells_its_numbers_at_the_pointer(app: Driver, mini: Transformer) -> None:
    app.open(INSIDE, **CHOSEN)
    _step(app, "Query").get_by_role("img", name=re.compile("^W_Q")).hover(position={"x": 1, "y": 1})
    tooltip = app.page.locator(".tooltip:popover-open")
    expect(tooltip).to_be_visible()
    lines = tooltip.inner_text().split("\n")
    expected = float(mini.get_parameter(f"blocks.{LAYER}.attn.W_Q")[HEAD, 0, 0])
    assert _number(lines[lines.index("value") + 1]) == pytest.approx(expected, rel=5e-4)  # four digits


def test_two_runs_are_shown_in_turn_with_their_numbers_beside_each_other(app: Driver) -> None:
    app.open(INSIDE, **CHOSEN, prompt_b=PROMPT.replace("cat", "dog"))
    chain = app.page.get_by_role("region", name="The followed key's numbers")
    expect(chain.locator("tbody tr")).to_have_count(4)
    before = app.picture()
    app.reveal(app.page.get_by_role("radio", name="B − A")).click()
    app.changed_from(before)
    expect(_step(app, "Keys").locator("figcaption .formula")).to_have_text("B − A of K")
    expect(app.page.locator(".spelled")).to_have_count(0)


def test_a_prompt_as_long_as_the_context_shows_the_keys_that_matter(app: Driver) -> None:
    app.open(INSIDE, prompt="The cat sat on the mat. " * 28, heads=f"{LAYER}.{HEAD}", queries="100")
    expect(app.page.get_by_text(re.compile(r"show 12 of [12]\d\d keys"))).to_be_visible()
    drawn = _step(app, "Residual stream").get_by_role("img", name=re.compile("^X, 12 of [12]\\d\\d × 128 numbers"))
    keys = [button.get_attribute("aria-label") or "" for button in _step(app, "Mask").locator("th button").all()]
    assert [keys[row] for row in drawn.evaluate(MARKED_ROWS, 12)] == [next(key for key in keys if " 100," in key)]
    assert _step(app, "Mask").locator("td.masked").count() == 2


def test_tables_stand_for_the_matrices_on_request(app: Driver) -> None:
    app.open(INSIDE, **CHOSEN)
    weight = _weight(app)
    app.reveal(app.page.get_by_role("switch", name="As tables")).click()
    rows = app.page.get_by_role("region", name="Every key").locator("tbody tr")
    assert _number(rows.nth(KEY).locator("td").last.inner_text()) == pytest.approx(weight, rel=5e-4)
    expect(app.page.get_by_text("the attention weight")).to_be_visible()
