"""The picture first: where each page's main picture begins in every window, and what of Attention is seen at once."""

import pytest

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from headlight.app.runs.prompts import examples
from tests.e2e.driver import Driver
from tests.e2e.fitting import check_fits
from tests.e2e.screenshots import COMPARED, COMPARED_BY_SLUG

SIZES = ((1440, 900), (1280, 800), (1920, 900), (900, 900), (390, 844))
DESKTOP = 1280  # from here on
# CSS pixels from the top of the window; with a B there are a line more in the bar and one more below it.
LOWEST = {"alone": 260, "compared": 320}
LOWEST_IN_LESS = {"alone": 500, "compared": 640}
# What a page is about, by the key of its place; of those, the first that is drawn.
PICTURES = {
    "attention": "grid",
    "inside": "steps_A",
    "residual": "norms-A",
    "lens": "lens",
    "prompts": "prompt_table",
    "why": "score_parts",
    "patching": "patched",
    "flow": "flow_A",
    "mlp": "figure",
    "features": "features_map",
    "graph": "graph_picture",
    "heads": "finder",
    "corpus": "corpus_scatter",
    "weights": "pairs_Highest",
    "generate": "generate_bars",
    "translate": "grid-pair-cross",
}
WITH_A_B_ALONE = ("patching",)  # which has nothing to show of one run
WEIGHTS_COMPARED = "singular_values"


def top(app: Driver, view: View, how: str) -> float:
    """Where the page's main picture begins: the highest of its canvases, or its plot, table or list."""
    name = WEIGHTS_COMPARED if how == "compared" and view.slug == "weights" else PICTURES[view.slug]
    place = app.page.locator(f"[class*=st-key-headlight-{name}]")
    drawn = place.locator("canvas, .js-plotly-plot, [role=grid], table, [role=listbox]").filter(visible=True)
    return float(drawn.evaluate_all("all => Math.min(...all.map(each => each.getBoundingClientRect().top))"))


def query(view: View, how: str) -> dict[str, str]:
    """The page alone with a prompt, or with a B."""
    if how == "compared":
        return COMPARED_BY_SLUG.get(view.slug, COMPARED)
    own = (each.prompt for each in examples() if each.view == view.slug and not each.model)
    return {"prompt": next(own, examples()[0].prompt)}


@pytest.mark.parametrize("how", LOWEST)
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.slug)
def test_the_main_picture_begins_high_on_a_page_that_fits_the_window(app: Driver, view: View, how: str) -> None:
    if how == "alone" and view.slug in WITH_A_B_ALONE:
        pytest.skip("nothing to show without a B")
    app.open(view, **query(view, how))
    tops = {}
    for width, height in SIZES:
        app.page.set_viewport_size({"width": width, "height": height})
        app.settle()
        check_fits(app)
        tops[width] = top(app, view, how), (LOWEST_IN_LESS if width < DESKTOP else LOWEST)[how]
    assert all(begins <= most for begins, most in tops.values()), tops


@pytest.mark.parametrize(("width", "height"), SIZES[:2])
def test_a_newcomer_sees_the_grid_and_two_chosen_heads_whole(app: Driver, width: int, height: int) -> None:
    app.page.set_viewport_size({"width": width, "height": height})
    app.open()
    header = app.page.get_by_role("banner").bounding_box()
    assert header
    whole = [app.board, app.panels.nth(0), app.panels.nth(1)]
    for part in whole:
        box = part.bounding_box()
        assert box
        assert box["y"] >= header["y"] + header["height"]
        assert box["y"] + box["height"] <= height
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    board = app.board.bounding_box()
    assert board
    assert board["y"] - header["height"] <= 200  # nothing taller stands above


def test_every_token_is_named_along_the_chosen_heads(app: Driver) -> None:
    """Two dozen tokens have room for a label each, which none of today's default panels may lack."""
    app.page.set_viewport_size({"width": 1280, "height": 800})
    app.open()
    plot = app.panels.first.locator(".plot").bounding_box()
    assert plot
    n_tokens = app.chips.count()
    assert n_tokens == 24
    assert plot["width"] - 64 - 8 >= 11 * n_tokens  # the labels' own width, and the room that one needs
