"""Two prompts beside each other, in a real browser."""

import re

import numpy as np
from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from headlight.model import load
from tests.e2e.driver import Driver

A = "When Mary and John went to the shop, John gave a drink to"
B = "When Mary and John went to the shop, Mary gave a cold drink to"


def test_every_page_shows_a_b_and_the_difference(app: Driver) -> None:
    app.open(prompt=A, prompt_b=B, heads="1.2")
    expect(app.fed).to_have_count(2)
    for title in ("A", "B", "B − A"):
        expect(app.panels.filter(has_text=re.compile(rf"(^|\d){title}$")).first).to_be_visible()
    lens = next(view for view in VIEWS if view.slug == "lens")
    residual = next(view for view in VIEWS if view.slug == "residual")
    for view in (lens, residual):
        app.go_to(view)
        expect(app.fed).to_have_count(2)
        expect(app.page.get_by_text("B − A", exact=True).first).to_be_visible()


def test_the_tooltip_of_a_difference_gives_both_weights(app: Driver) -> None:
    model = load("mini")
    weights = []
    for prompt in (A, B):
        tokens = model.to_tokens(prompt, prepend_bos=True)
        _, cache = model.run_with_cache(tokens, names_filter="blocks.1.attn.hook_pattern")
        weights.append(float(cache["pattern", 1][0, 2, 2, 1]))
    app.open(prompt=A, prompt_b=B, heads="1.2", queries="2", keys="1")
    tooltip = app.point_at(query=2, key=1, panel=2, n_places=app.chips.count() // 3)
    numbers = [float(number) for number in re.findall(r"[\d.]+e?-?\d*", tooltip.replace("−", "-")) if "." in number]
    for weight in weights:
        assert min(abs(np.array(numbers) - weight)) < 1e-3 * max(weight, 1e-3)  # four digits of the coded weight


def test_three_pictures_a_head_stand_abreast_beside_the_grid(app: Driver) -> None:
    app.open(prompt=A, prompt_b=B, heads="1.2")
    boxes = [plot.bounding_box() for plot in app.page.locator(".plot").all()]
    assert len(boxes) == 3
    assert len({box["y"] for box in boxes if box}) == 1
    assert all(box and box["width"] > 250 for box in boxes)  # of a window of 1280


def test_maps_and_graphs_of_a_and_b_have_one_colour_bar_and_the_difference_its_own(app: Driver) -> None:
    for slug in ("residual", "flow"):
        app.open(next(view for view in VIEWS if view.slug == slug), prompt=A, prompt_b=B)
        expect(app.page.get_by_text("B − A", exact=True).first).to_be_visible()
        expect(app.page.locator(".legend .scale").filter(visible=True)).to_have_count(2)


def test_a_line_of_b_does_not_touch_the_words_of_a(app: Driver) -> None:
    """L1H1 looks from the last token at one far away with nearly all of its weight: a thick line, that rises high."""
    text = "The quick brown fox found a small key near the river. The quick brown fox found a small"
    app.open(prompt=text, prompt_b=text.replace("river", "water"), heads="1.1")
    expect(app.page.locator(".joined.compared")).to_be_visible()
    app.settle()
    crossed = app.page.locator("canvas.lines").evaluate(
        """(canvas) => {
          const [first] = canvas.parentNode.querySelectorAll(".line"), ratio = canvas.width / canvas.clientWidth;
          const { bottom, height } = first.querySelector(".chip").getBoundingClientRect();
          const [third, lower] = [height / 3, bottom - canvas.getBoundingClientRect().top].map((y) => y * ratio);
          return canvas.getContext("2d").getImageData(0, lower - third, canvas.width, third).data.some(Boolean);
        }"""
    )
    assert not crossed


def test_compare_opens_a_second_prompt_and_close_b_ends_it(app: Driver) -> None:
    app.open(prompt=A, heads="1.2")
    app.page.get_by_role("button", name="Compare A | B").click()
    second = app.page.get_by_role("textbox", name="Prompt B")
    expect(second).to_have_value(A)
    app.settle()
    second.fill(B)
    app.run_button.click()
    expect(app.fed).to_have_count(2)
    app.page.get_by_role("button", name="Close B").click()
    expect(app.fed).to_have_count(1)
    expect(second).to_have_count(0)


def test_the_keyboards_focus_stays_where_b_is_opened_and_closed(app: Driver) -> None:
    app.open(prompt=A, heads="1.2")
    app.page.get_by_role("button", name="Compare A | B").focus()
    app.page.keyboard.press("Enter")
    expect(app.page.get_by_role("textbox", name="Prompt B")).to_be_visible()
    app.settle()
    expect(app.page.get_by_role("button", name="Close B")).to_be_focused()
    app.page.keyboard.press("Enter")
    expect(app.page.get_by_role("textbox", name="Prompt B")).to_have_count(0)
    app.settle()
    expect(app.page.get_by_role("button", name="Compare A | B")).to_be_focused()


def test_back_and_forward_undo_and_repeat_a_swap_and_the_closing_of_b(app: Driver) -> None:
    app.open(prompt=A, prompt_b=B, heads="1.2")
    boxes = [app.page.get_by_role("textbox", name=f"Prompt {side}") for side in "AB"]

    def expect_prompts(a: str, b: str) -> None:
        for box, prompt in zip(boxes, (a, b), strict=True):
            expect(box).to_have_value(prompt)
        expect(app.fed).to_have_count(2)
        app.settle()

    expect_prompts(A, B)
    app.page.get_by_role("button", name="Swap A and B").click()
    expect_prompts(B, A)
    app.page.get_by_role("button", name="Close B").click()
    expect(app.fed).to_have_count(1)
    expect(app.prompt).to_have_value(B)
    app.settle()
    app.page.go_back()
    expect_prompts(B, A)
    app.page.go_back()
    expect_prompts(A, B)
    app.page.go_forward()
    expect_prompts(B, A)
    app.page.go_forward()
    expect(app.fed).to_have_count(1)
    expect(boxes[1]).to_have_count(0)
    app.settle()
    assert "prompt_b" not in app.page.url


def test_sorting_by_the_difference_puts_the_head_that_changed_most_first(app: Driver) -> None:
    app.open(prompt=A, prompt_b=B, heads="1.2", sort="divergence", top="3")
    expect(app.board).to_have_attribute("aria-label", re.compile("3"))


def test_no_label_of_a_colour_bar_is_under_the_picture_below_it(app: Driver) -> None:
    app.open(next(view for view in VIEWS if view.slug == "lens"), prompt=A, prompt_b=B)
    app.page.set_viewport_size({"width": 390, "height": 900})
    app.settle()
    script = """(sheet) => {
      const bottom = (tick) => tick.getBoundingClientRect().bottom;
      const below = (legend) => legend.nextElementSibling.getBoundingClientRect().top;
      return [...sheet.querySelectorAll(".legend")].map((legend) =>
        below(legend) - Math.max(...[...legend.querySelectorAll(".tick")].map(bottom)));
    }"""
    gaps = app.page.locator(".sheet").first.evaluate(script)
    assert len(gaps) == 2
    assert min(gaps) >= 0
