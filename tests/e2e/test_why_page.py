"""*Why* in a real browser: from a pinned cell to its reasons, choices by list and key, and the model's numbers."""

import re
from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from headlight.model import Transformer, load
from tests.e2e.driver import Driver

PROMPT = "The cat sat on the mat. The cat sat on the"
LAYER, HEAD, QUERY, KEY = 1, 0, 13, 6
WHY = next(view for view in VIEWS if view.slug == "why")
# The bar of an intervention's total effect.
TOTAL = """(plot, name) => {
    const bars = plot.data.find((trace) => trace.name === "total, measured");
    const axis = plot.layout[bars.yaxis.replace("y", "yaxis")];
    return bars.x[axis.ticktext.findIndex((label) => label.split("<br>")[0] === name)];
}"""
CHOSEN = {"prompt": PROMPT, "heads": f"{LAYER}.{HEAD}", "keys": str(KEY)}


@pytest.fixture(scope="module")
def mini() -> Iterator[Transformer]:
    with torch.inference_mode():
        yield load("mini")


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _told(app: Driver, pattern: str) -> float:
    """A number in one of the page's sentences."""
    line = app.page.get_by_text(re.compile(pattern)).first
    expect(line).to_be_visible()
    match = re.search(pattern, line.inner_text())
    assert match
    return _number(match[1])


def _map(app: Driver, name: str) -> Locator:
    return app.page.get_by_role("application", name=re.compile(f"^{re.escape(name)}"))


def test_the_numbers_are_the_models(app: Driver, mini: Transformer) -> None:
    app.open(WHY, **CHOSEN)
    tokens = mini.to_tokens(PROMPT, prepend_bos=True)
    logits, cache = mini.run_with_cache(tokens)
    score, weight = (float(cache[name, LAYER][0, HEAD, QUERY, KEY]) for name in ("attn_scores", "pattern"))
    assert _told(app, r"score (\S+), weight") == pytest.approx(score, rel=5e-4)  # four digits are shown
    assert _told(app, r"weight (\S+)\.") == pytest.approx(weight, rel=5e-4)
    best = logits[0, -1].topk(2).values
    assert _told(app, r"difference (\S+) logits") == pytest.approx(float(best[0] - best[1]), rel=5e-4)
    assert abs(_told(app, r"Decomposition error: (\S+)\.")) < 1e-4
    assert abs(_told(app, r"\(error (\S+)\)\.")) < 1e-4


def test_what_is_measured_is_a_run_with_a_hook(app: Driver, mini: Transformer) -> None:
    app.open(WHY, **CHOSEN)
    tokens = mini.to_tokens(PROMPT, prepend_bos=True)

    def cut(pattern: torch.Tensor, hook: object) -> None:
        pattern[:, HEAD, QUERY, KEY] = 0

    before = mini(tokens)[0, -1]
    pair = before.topk(2).indices
    after = mini.run_with_hooks(tokens, [(f"blocks.{LAYER}.attn.hook_pattern", cut)])[0, -1]
    change = (after - before)[pair]
    total = app.page.locator(".js-plotly-plot").last.evaluate(TOTAL, "edge cut")
    assert total == pytest.approx(float(change[0] - change[1]), rel=1e-3)  # of float32 logits of about 10


def test_each_picture_stands_under_its_question(app: Driver) -> None:
    app.open(WHY, **CHOSEN)
    writes, matters = (
        app.page.get_by_role("heading", name=name).bounding_box() for name in ("What it writes", "Does it matter?")
    )
    promotes, without = (
        app.page.locator(".annotation-text", has_text=title).first.bounding_box()
        for title in ("The cell's write promotes", "Change of target − distractor without")
    )
    assert all((writes, matters, promotes, without))
    assert writes["y"] < promotes["y"] < matters["y"] < without["y"]


def test_from_a_pinned_cell_to_its_reasons(app: Driver) -> None:
    app.open(prompt=PROMPT, heads=f"{LAYER}.{HEAD} 0.1", queries=str(QUERY), keys=str(KEY))
    app.page.locator(".st-key-headlight-why").get_by_role("button", name="L0H1").click()
    app.page.wait_for_url(re.compile("page=why"))
    expect(app.page.get_by_role("combobox", name="Head", exact=True)).to_have_value("L0H1")
    expect(app.page.get_by_role("combobox", name="Key token")).to_have_value(re.compile(rf"^{KEY} "))
    app.page.wait_for_url(re.compile(r"heads=0\.1\+1\.0"))


def test_a_click_on_the_map_explains_that_head(app: Driver) -> None:
    app.open(WHY, **CHOSEN)
    effects = _map(app, "direct effect on target − distractor (logits), layer by head")
    effects.scroll_into_view_if_needed()
    cell = app.page.get_by_role("combobox", name="Head", exact=True)
    app.page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    expect(cell).not_to_be_in_viewport()
    effects.focus()
    app.page.keyboard.press("ArrowRight")
    app.page.keyboard.press("ArrowDown")
    expect(app.page.locator(".tooltip:popover-open")).to_contain_text("H1")
    app.page.keyboard.press("Enter")
    app.page.wait_for_url(re.compile(r"heads=2\.1"))
    expect(cell).to_have_value("L2H1")
    expect(cell).to_be_in_viewport()  # the head is explained there
    expect(app.page.get_by_text("Direct effect of L2H1 by source token")).to_be_visible()


def test_tokens_are_typed_and_swapped(app: Driver) -> None:
    app.open(WHY, **CHOSEN)
    app.page.get_by_role("textbox", name="Target").fill(" dog")
    app.page.get_by_role("textbox", name="Target").press("Enter")
    expect(app.page.get_by_text(re.compile("“␣dog”.*“␣way”.*difference"))).to_be_visible()
    app.page.get_by_role("textbox", name="Distractor").fill("on the")
    app.page.get_by_role("textbox", name="Distractor").press("Enter")
    expect(app.refused).to_contain_text("The distractor is ignored")
    app.page.get_by_role("textbox", name="Distractor").fill("on")
    app.page.get_by_role("textbox", name="Distractor").press("Enter")
    expect(app.refused).to_contain_text("“on” has no leading space")
    app.settle()
    before = _told(app, r"difference (\S+) logits")
    app.page.get_by_role("button", name="Swap").click()
    app.page.wait_for_url(re.compile(r"target=on&distractor=\+dog"))
    app.settle()
    assert _told(app, r"difference (\S+) logits") == -before


def test_a_cell_above_the_diagonal_says_what_to_do(app: Driver) -> None:
    app.open(WHY, **CHOSEN)
    app.choose("Query token", "3 ␣sat")
    expect(app.page.get_by_text("Choose a key from 0 to 3")).to_be_visible()
    app.page.get_by_role("button", name="Strongest cell").click()
    expect(app.page.get_by_role("heading", name=re.compile("Where L.* looks, and why"))).to_be_visible()


def test_two_prompts_are_explained_beside_each_other(app: Driver) -> None:
    app.open(WHY, **CHOSEN, prompt_b=f"Look. {PROMPT.replace('cat', 'dog')}")
    expect(app.page.get_by_text("head resample-ablated")).to_be_visible()
    before = app.picture()
    app.page.get_by_role("radio", name="B − A").click()
    app.changed_from(before)
    expect(app.page.get_by_role("region", name="The cell's numbers in A, in B").locator("tbody tr")).to_have_count(7)
    expect(app.page.get_by_text("promotes more in B")).to_be_visible()


@pytest.mark.usefixtures("own_session")
def test_the_mean_can_be_over_the_listed_prompts(app: Driver) -> None:
    app.open(WHY, **CHOSEN)
    expect(app.page.get_by_text("The mean is over the 14 tokens of this prompt")).to_be_visible()
    app.go_to(VIEWS[0])
    for prompt in ("The dog slept under the tree.", "Two birds sang."):
        app.run(prompt)
        expect(app.fed).to_contain_text("input tokens")
        app.settle()
    app.go_to(WHY)
    app.choose("Mean over", "the 3 listed prompts")
    expect(app.page.get_by_text(re.compile(r"The mean is over \d+ tokens of 3 prompts"))).to_be_visible()
    app.page.wait_for_url(re.compile("mean_over="))
    count = _told(app, r"over (\d+) tokens of 3")
    app.page.goto(app.page.url)  # the link holds the prompts
    assert _told(app, r"over (\d+) tokens of 3") == count


def test_tables_stand_for_the_pictures_on_request(app: Driver) -> None:
    app.open(WHY, **CHOSEN)
    score = _told(app, r"score (\S+), weight")
    app.page.get_by_text("As tables").click()
    rows = app.page.get_by_role("region", name="The score by part of the key").locator("tbody tr")
    assert _number(rows.last.locator("td").last.inner_text()) == pytest.approx(score, rel=5e-4)
