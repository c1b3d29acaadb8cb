"""The picture first: where each page's main picture begins in every window, and what of Attention is seen at once."""

import pytest
from playwright.sync_api import expect

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from headlight.app.runs.prompts import examples
from tests.e2e.driver import PROMPTED_VIEWS, Driver
from tests.e2e.fitting import check_first_screen
from tests.e2e.screenshots import compared
from tests.e2e.test_compared import MOVED_BY_CHOICE

# The other pages are looked at with something chosen (test_compared.py).
OTHERS = [view for view in VIEWS if view not in PROMPTED_VIEWS or view.slug in MOVED_BY_CHOICE]
WITH_A_B_ALONE = ("patching",)  # which has nothing to show of one run


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.slug)
def test_the_main_picture_begins_high_on_a_page_that_fits_the_window(app: Driver, view: View) -> None:
    if view.slug in WITH_A_B_ALONE:
        pytest.skip("nothing to show without a B")
    own = (each.prompt for each in examples() if each.view == view.slug and each.model == "mini")
    app.open(view, prompt=next(own, examples()[0].prompt))
    check_first_screen(app, view, "alone")


@pytest.mark.parametrize("view", OTHERS, ids=lambda view: view.slug)
def test_a_comparison_begins_high_too(app: Driver, view: View) -> None:
    app.open(view, **compared(view))
    check_first_screen(app, view, "compared")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 820)])
def test_a_newcomer_sees_the_text_and_the_grid_whole(app: Driver, width: int, height: int) -> None:
    app.page.set_viewport_size({"width": width, "height": height})
    app.open()
    header = app.page.get_by_role("banner").bounding_box()
    assert header
    predicted = app.page.locator(".prediction")
    whole = [app.page.locator("h2.page"), app.chips.first, app.chips.last, predicted, app.board]
    for part in whole:
        box = part.bounding_box()
        assert box
        assert box["y"] >= header["y"] + header["height"]
        assert box["y"] + box["height"] <= height
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    board, heads = app.board.bounding_box(), app.panels.first.locator(".plot").bounding_box()
    assert board
    assert heads
    assert heads["y"] < height - 200  # the first head is begun to be seen, beside the grid
    assert heads["x"] > board["x"] + board["width"]


def test_of_a_long_text_the_prediction_stands_in_the_line_of_its_last_token(app: Driver) -> None:
    app.page.set_viewport_size({"width": 1440, "height": 900})
    app.open(prompt=" ".join(["The cat sat on the mat."] * 20))
    last, predicted = app.chips.last.bounding_box(), app.page.locator(".prediction").bounding_box()
    assert last
    assert predicted
    assert predicted["y"] < last["y"] + last["height"] / 2 < predicted["y"] + predicted["height"]


def test_a_phones_first_screen_has_the_text_and_most_of_a_head(app: Driver) -> None:
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.open()
    last, plot, board = (each.bounding_box() for each in (app.chips.last, app.panels.first.locator(".plot"), app.board))
    assert last
    assert plot
    assert board
    assert last["y"] + last["height"] < plot["y"] < 844 - 0.5 * plot["width"]
    assert board["y"] > plot["y"] + plot["height"]


def test_before_anything_is_chosen_a_line_says_what_headlight_is(app: Driver) -> None:
    """In the room of the line that says how to read the text, so that nobody's picture stands lower for it."""
    app.open()
    line = app.page.get_by_text("Headlight shows what a language model's attention heads do")
    expect(line).to_be_visible()
    top = app.chips.first.bounding_box()
    app.click_head(2, 3, shape=(4, 4))
    expect(line).to_have_count(0)
    assert app.chips.first.bounding_box() == top


def test_every_token_is_named_along_the_chosen_heads(app: Driver) -> None:
    """Two dozen tokens have room for a label each, which none of today's default panels may lack."""
    app.page.set_viewport_size({"width": 1280, "height": 800})
    app.open()
    plot = app.panels.first.locator(".plot").bounding_box()
    assert plot
    n_tokens = app.chips.count()
    assert n_tokens == 24
    assert plot["width"] - 64 - 8 >= 11 * n_tokens  # the labels' own width, and the room that one needs


def test_the_token_at_which_a_neuron_is_looked_at_is_in_sight_of_a_long_prompt(app: Driver) -> None:
    mlp = next(view for view in VIEWS if view.slug == "mlp")
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.open(mlp, prompt="The cat sat on the mat. " * 20)
    in_sight = """chip => {
        const [box, list] = [chip, chip.parentElement].map(each => each.getBoundingClientRect());
        return chip.parentElement.scrollTop > 0 && box.top >= list.top && box.bottom <= list.bottom;
    }"""
    assert app.page.locator(".chips .chip.pinned").first.evaluate(in_sight)
