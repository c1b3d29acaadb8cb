"""The page of patches: an example to begin with, maps of every kind, progress and stop, and the files."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver

PATCHING = next(view for view in VIEWS if view.slug == "patching")
A = "When Mary and John went to the shop, John gave a drink to"
B = "When Mary and John went to the shop, Mary gave a drink to"

# The work may end between two questions of a test: what its page says meanwhile is read, and Stop pressed, at once.
STOPPED = """() => {
  const button = document.querySelector("[class*='st-key-headlight-stop_'] button");
  const page = document.querySelector("[data-testid=stMain]").innerText;
  const hasBegun = page.includes("parts of the map done") && !page.includes("cells (about"); // which begins it
  if (!button || !hasBegun) return null;
  button.click();
  return getComputedStyle(button.querySelector("p"), "::before").content;
}"""


@pytest.fixture
def opened(app: Driver) -> Driver:
    """The map of all heads."""
    app.open(PATCHING, prompt=A, prompt_b=B)
    expect(app.page.get_by_text("(“␣Mary” − “␣John”) after 15 ␣to")).to_be_visible()
    expect(app.take_with_you).to_be_visible()
    app.settle()
    return app


def strongest(app: Driver) -> list[str]:
    """The first row of the table of the strongest cells."""
    first = app.page.locator(".listed tbody tr").filter(has=app.page.locator("td")).first
    return [cell.replace("−", "-") for cell in first.locator("td").all_inner_texts()]


def test_one_prompt_alone_says_what_is_missing_and_opens_an_example(app: Driver) -> None:
    app.open(PATCHING)
    expect(app.page.get_by_text("Activation patching copies activations")).to_be_visible()
    app.page.get_by_role("button", name="Patch an example: Two names, two answers").click()
    expect(app.page.get_by_text("Normalized: 0 = A, 1 = B")).to_be_visible()
    own = "normalized logit difference (0 = A, 1 = B); unpatched: 0"  # the example's, which gives way, names no run
    expect(app.page.get_by_role("application", name=own)).to_be_visible()


def test_prompts_of_unequal_length_are_matched(app: Driver) -> None:
    """The stream of the word that is another, put into the longer prompt; the words that A lacks are marked."""
    app.open(PATCHING, prompt=A, prompt_b=f"Yesterday evening, w{B[1:]}", patch_map="resid_pre", patch_into="B")
    expect(app.page.get_by_text("14 of A's 15 positions are matched with B's 18, by tokens")).to_be_visible()
    called = "normalized logit difference (0 = A, 1 = B); unpatched: 1"
    expect(
        app.page.get_by_role("application", name=f"{called}, layer by position, 4 rows by 18 columns")
    ).to_be_visible()
    expect(app.page.get_by_text("not matched", exact=True)).to_be_visible()
    app.settle()
    # From here on nearly all of A is left. 13 tokens are the same, and the last of 15 + 18 - 13 places is 19.
    assert strongest(app)[:2] == ["L3", "19 ␣to"]


def test_a_with_edits_is_patched_from_either_side(app: Driver) -> None:
    app.open(PATCHING, prompt=A, edits="ablate:1.2:zero:", patch_into="B")
    expect(app.page.get_by_text("B is A with edits")).to_be_visible()
    app.settle()
    # With all of a head's z put back the run is A again: the share of L1H2 is 0 in the run that lacks it.
    head, share = strongest(app)
    assert head == "L1H2"
    assert abs(float(share)) < 1e-3


def test_one_head_of_mini_carries_the_name(opened: Driver) -> None:
    head, share = strongest(opened)
    assert head == "L1H2"
    assert 0.9 < float(share) < 1.1
    opened.page.get_by_role("application").focus()
    opened.page.keyboard.press("ArrowDown")
    tooltip = opened.page.locator(".tooltip:popover-open")
    expect(tooltip).to_contain_text("L")


@pytest.mark.parametrize(
    ("which", "size"),
    [
        ("Residual stream before each layer, by position", "4 rows by 15 columns"),
        ("MLP output, by position", "4 rows by 15 columns"),
        ("Heads of one layer, by position", "4 rows by 15 columns"),
        ("Paths to a head's value", "3 rows by 4 columns"),
    ],
)
def test_every_kind_of_map_is_drawn_and_kept_in_the_link(opened: Driver, which: str, size: str) -> None:
    opened.choose("What is patched", which)
    expect(opened.page.get_by_role("application", name=size)).to_be_visible()
    opened.page.wait_for_url("**patch_map=*")
    link = opened.page.url
    opened.page.goto(link)
    expect(opened.page.get_by_role("application", name=size)).to_be_visible()


def test_the_estimate_comes_on_request_and_says_what_it_is(opened: Driver) -> None:
    opened.page.get_by_text("Add an estimate").click()
    expect(opened.page.get_by_text("Attribution patching is an estimate. Its rank correlation")).to_be_visible()
    expect(opened.page.get_by_role("application", name="estimate of it, by attribution patching")).to_be_visible()


def test_a_long_map_waits_for_a_click_and_can_be_stopped(app: Driver) -> None:
    """The first word is another, so that every position's part differs in the two runs."""
    text = "The red cat sat by the river and the dog slept under the old tree. " * 14
    end = "The cat. It was a warm day and she sat"
    app.open(PATCHING, prompt=f"A {text}{end}", prompt_b=f"The {text}{end}", patch_map="z_by_position", patch_layer="0")
    start = app.page.get_by_role("button", name="cells (about")
    expect(start).to_be_visible()
    start.click()
    assert "Stopping…" in app.page.wait_for_function(STOPPED).json_value()
    expect(start).to_be_visible()


def test_code_and_data_can_be_taken_along(opened: Driver, tmp_path: Path) -> None:
    opened.open_take_away()
    opened.page.get_by_role("tab", name="Data").click()
    opened.downloaded(opened.page.get_by_role("button", name="Everything (zip)")).save_as(tmp_path / "patching.zip")
    assert (tmp_path / "patching.zip").stat().st_size > 1000
