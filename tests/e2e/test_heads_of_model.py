"""The page of all heads: found at once on the embedded model, opened from the map, and named in the grid."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver

HEADS = next(view for view in VIEWS if view.slug == "heads")
PROMPTS = next(view for view in VIEWS if view.slug == "prompts")
ACROSS, DOWN = 72, 81  # pixels from one head of mini to the next, with the bars above and below


@pytest.fixture
def opened(app: Driver) -> Driver:
    """The page, with everything found."""
    app.open(HEADS)
    expect(app.page.get_by_role("button", name="↻ induction 2")).to_be_visible()
    app.settle()
    return app


def at(layer: int, head: int) -> dict[str, float]:
    """A point of a head's picture."""
    return {"x": (head + 0.5) * ACROSS, "y": (layer + 0.5) * DOWN}


def hover(app: Driver, layer: int, head: int) -> str:
    """What the map tells of a head."""
    app.board.hover(position=at(layer, head))
    tooltip = app.page.locator(".tooltip:popover-open")
    expect(tooltip).to_be_visible()
    return tooltip.inner_text()


def table(app: Driver) -> list[list[str]]:
    """The table's cells, row by row."""
    return [row.locator("td").all_inner_texts() for row in app.page.locator(".listed tbody tr").all()]


def test_the_heads_of_the_card_are_named_with_their_labels(opened: Driver) -> None:
    expect(opened.page.get_by_text("10 sequences of 25 different random tokens, each twice")).to_be_visible()
    first = next(row for row in table(opened) if row)
    assert first[0] in ("L1H0", "L1H1")
    assert first[2:4] == ["1 of 16", "↻ induction"]
    tooltip = hover(opened, 1, 0)
    assert "of 16" in tooltip
    assert "induction" in tooltip


def test_a_clicked_head_opens_on_the_attention_page_where_the_grid_shows_the_labels(opened: Driver) -> None:
    opened.board.click(position=at(1, 0))
    opened.page.get_by_role("button", name="Open L1H0 on Attention").click()
    expect(opened.panels).to_have_count(1)
    expect(opened.panels.first).to_contain_text("L1H0")
    marks = opened.page.locator(".mark")
    expect(marks.filter(has_text="↻")).to_have_count(2)
    expect(opened.page.get_by_role("button", name="↻ induction 2")).to_be_visible()


def test_a_newcomers_grid_has_no_labels_and_nothing_is_looked_for(app: Driver) -> None:
    app.open(finder_seed="77")
    expect(app.board).to_be_visible()
    expect(app.page.locator(".mark")).to_have_count(0)


def test_another_score_orders_anew_and_survives_in_the_link(opened: Driver) -> None:
    opened.choose("Score", "Previous token")
    opened.settle()
    assert "previous token" in hover(opened, 0, 1)
    opened.page.wait_for_url("**finder_score=previous_token**")
    opened.choose("Score", "Copying (OV)")
    opened.page.wait_for_url("**finder_score=copying**")
    opened.settle()
    expect(opened.page.get_by_text("Copying (OV) (share)")).to_be_visible()


@pytest.mark.usefixtures("own_session")
def test_prompts_of_the_list_can_be_looked_at_instead(opened: Driver) -> None:
    opened.page.get_by_role("radio", name="my prompts").click()
    expect(opened.page.get_by_text("Measured on 1 prompt of the list")).to_be_visible()
    opened.settle()
    tooltip = hover(opened, 1, 0)
    assert " to " not in tooltip  # one prompt has no interval
    expect(opened.page.get_by_text("A single prompt has no confidence interval")).to_be_visible()


def test_all_heads_can_be_ablated(opened: Driver) -> None:
    opened.reveal(opened.page.get_by_role("switch", name="Ablate all heads")).click()
    opened.choose("Score", "Effect of ablating")
    opened.page.wait_for_url("**every_head=1**")
    opened.settle()
    expect(opened.page.get_by_text("Effect of ablating (nats)")).to_be_visible()
    assert "16 of 16" in " ".join(hover(opened, layer, head) for layer in range(4) for head in range(4))


def test_an_edited_model_is_held_against_itself(app: Driver) -> None:
    """Without a head that looks back, those that copy look less where they did; on repeats of another length."""
    app.open(HEADS, edits="ablate:0.1:zero: cut:1.0:3:1:0", finder_count="6", finder_half="12")
    expect(app.page.get_by_text("6 sequences of 12 different random tokens, each twice")).to_be_visible()
    expect(app.page.get_by_text("Not applied in B, since they refer to tokens of its prompt")).to_be_visible()
    expect(app.page.locator(".board")).to_have_count(3)
    app.settle()
    assert {row[0] for row in table(app)[:2]} <= {"L1H0", "L1H1"}
    first = next(row for row in table(app) if row)
    interval = first[6].split(" to ")
    a, b, change, low, high = (float(cell.replace("−", "-")) for cell in (first[1], first[3], first[5], *interval))
    assert b - a == pytest.approx(change, abs=2e-3)  # three digits are shown
    assert low < change < high < 0
    third = app.page.locator(".board").nth(2)
    third.click(position={"x": 0.5 * ACROSS, "y": 1.5 * ACROSS})  # of a change there are no bars
    expect(app.page.get_by_role("button", name="Open L1H0 on Attention")).to_be_visible()
    count = app.reveal(app.page.get_by_role("spinbutton", name="Sequences"))
    count.fill("5")
    count.press("Enter")
    expect(app.page.get_by_text("5 sequences of 12 different random tokens")).to_be_visible()
    app.page.wait_for_url("**finder_count=5**")


def test_two_prompts_of_one_model_say_what_is_the_same(app: Driver) -> None:
    app.open(HEADS, prompt="one two one two", prompt_b="the cat and the cat")
    expect(app.page.get_by_text("do not depend on the prompt")).to_be_visible()
    expect(app.page.locator(".board")).to_have_count(1)
    app.page.get_by_role("radio", name="my prompts").click()
    expect(app.page.get_by_text("A is measured on prompt A, B on prompt B.")).to_be_visible()
    expect(app.page.locator(".board")).to_have_count(3)


def test_code_and_data_can_be_taken_along(opened: Driver, tmp_path: Path) -> None:
    opened.open_take_away()
    opened.page.get_by_role("tab", name="Data").click()
    opened.downloaded(opened.page.get_by_role("button", name="Everything (zip)")).save_as(tmp_path / "heads.zip")
    assert (tmp_path / "heads.zip").stat().st_size > 1000
