"""A page that was left and is come back to: as it was, with what has changed since."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from tests.e2e.driver import PROMPTED_VIEWS, Driver

PROMPT = "When Mary and John went to the shop, John gave a drink to"
OTHER = "The keys to the cabinet are on the table, said the old man to his dog"
ATTENTION, HEAD, LENS, WEIGHTS, GENERATE, PROMPTS, ROLES = (
    next(view for view in VIEWS if view.slug == slug)
    for slug in ("attention", "inside", "lens", "weights", "generate", "prompts", "heads")
)
DRAWN = [view for view in PROMPTED_VIEWS if view is not PROMPTS]  # which lists what was looked at
OF_A_PROMPT = [
    view for view in DRAWN if view.slug not in ("patching", "heads", "corpus", "experiments")
]  # where a prompt alone is seen
# Counts the thumbnails that are painted into the grid.
COUNT_PAINTED = """() => {
    window.painted = 0;
    for (const method of ["putImageData", "drawImage"]) {
        const paint = CanvasRenderingContext2D.prototype[method];
        CanvasRenderingContext2D.prototype[method] = function (...rest) {
            if (this.canvas.closest(".board")) window.painted++;
            return paint.apply(this, rest);
        };
    }
}"""
PARTS = re.compile("data:image/png;base64,[^,]*|data:,|[^,]+")  # of a picture of the page
UNSEEN = "data:,"  # a head's canvas that was never in sight, not even while the page was put together: it has no size
PIXELS = "canvas => canvas.toDataURL()"


@pytest.fixture
def themed(app: Driver) -> Iterator[Driver]:
    """A window whose theme may be changed."""
    yield app
    app.page.emulate_media(color_scheme="light")
    app.settle()


def go_away(app: Driver, view: View) -> None:
    app.go_to(LENS if view is not LENS else ATTENTION)


def away_and_back(app: Driver, view: View) -> None:
    go_away(app, view)
    app.go_to(view)


def looks_like(app: Driver, before: str) -> bool:
    """Whether all that is drawn, and was, is the same."""
    now, then = PARTS.findall(app.picture()), PARTS.findall(before)
    return len(now) == len(then) and all(a == b or UNSEEN in (a, b) for a, b in zip(now, then, strict=True))


def test_every_page_looks_as_it_did_and_shows_the_prompt_that_was_run_elsewhere(app: Driver, elsewhere: Driver) -> None:
    elsewhere.open(ROLES, prompt=OTHER)  # once they are known, the grid of all heads names them
    expected = _pictures(elsewhere, OF_A_PROMPT)
    app.open(prompt=PROMPT)
    before = _pictures(app, DRAWN)
    for view in DRAWN:
        app.go_to(view)
        assert looks_like(app, before[view]), view.slug
        assert view not in expected or not looks_like(app, expected[view]), view.slug
    app.go_to(PROMPTS)
    app.run(OTHER)
    app.page.wait_for_url(lambda url: parse_qs(urlparse(url).query)["prompt"] == [OTHER])
    app.settle()
    for view in OF_A_PROMPT:
        app.go_to(view)
        assert looks_like(app, expected[view]), view.slug


def _pictures(app: Driver, views: Sequence[View]) -> dict[View, str]:
    """Each page as it looks, one after the other."""
    pictures = {}
    for view in views:
        app.go_to(view)
        pictures[view] = app.picture()
    return pictures


def test_a_page_has_the_theme_that_was_chosen_elsewhere(themed: Driver) -> None:
    app = themed
    app.page.emulate_media(color_scheme="dark")
    app.settle()
    app.open(prompt=PROMPT)
    dark = app.picture()
    app.page.emulate_media(color_scheme="light")
    app.settle()
    app.open(prompt=PROMPT)
    assert not looks_like(app, dark)
    go_away(app, ATTENTION)
    app.page.emulate_media(color_scheme="dark")
    app.settle()
    app.go_to(ATTENTION)
    assert looks_like(app, dark)


def test_what_was_drawn_is_not_drawn_again(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.page.evaluate(COUNT_PAINTED)
    away_and_back(app, ATTENTION)
    assert app.page.evaluate("window.painted") == 0
    app.page.set_viewport_size({"width": 900, "height": 1000})
    app.settle()
    assert app.page.evaluate("window.painted") > 0


def test_the_steps_of_a_head_stay_unless_another_number_is_followed(app: Driver) -> None:
    app.open(HEAD, prompt=PROMPT, heads="1.1")
    cards, key = app.page.locator(".cards > .card"), app.page.get_by_role("combobox", name="Follow key")
    kept = "cards => cards.filter((card) => card.kept).length"
    cards.evaluate_all("cards => cards.forEach((card) => (card.kept = true))")
    count = cards.count()
    away_and_back(app, HEAD)
    assert cards.evaluate_all(kept) == count > 3
    key.select_option(index=3)
    app.settle()
    assert cards.evaluate_all(kept) == 0
    followed = app.page.locator(".cards button[aria-pressed=true]").first
    expect(followed).to_have_accessible_name(re.compile("follow key 3,"))


def test_a_zoom_stays_and_what_was_pointed_at_does_not(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.panels.first.locator(".plot").scroll_into_view_if_needed()
    app.page.get_by_role("application", name="Attention weight of").focus()
    app.page.keyboard.press("+")
    zoomed = app.page.get_by_role("button", name="zoomed: ")
    expect(zoomed).to_be_visible()
    app.page.mouse.move(0, 0)
    app.settle()
    marks = app.panels.first.locator(".marks")
    said, before = zoomed.inner_text(), marks.evaluate(PIXELS)
    app.go_to(LENS)
    app.page.go_back()
    app.settle()
    app.point_at(3, 1, app.chips.count())
    assert marks.evaluate(PIXELS) != before
    app.page.go_forward()  # with the pointer on the picture
    app.settle()
    app.page.mouse.move(0, 0)
    app.page.go_back()
    app.settle()
    expect(zoomed).to_have_text(said)
    expect(app.page.locator(".tooltip:popover-open")).to_have_count(0)
    expect(app.page.locator(".frame.hover:visible, .chip.hovered")).to_have_count(0)
    assert marks.evaluate(PIXELS) == before


def test_a_table_stays_where_it_was_scrolled_to(app: Driver) -> None:
    app.open(WEIGHTS, prompt=PROMPT)
    scroller = app.page.locator(".scroller").first
    scroller.hover()
    app.page.mouse.wheel(0, 3000)
    app.page.mouse.move(0, 0)
    app.settle()
    place, before = scroller.evaluate("element => element.scrollTop"), app.picture()
    assert place > 100
    for _ in range(3):  # on its way out a page may be put there once more for a moment
        away_and_back(app, WEIGHTS)
        assert scroller.evaluate("element => element.scrollTop") == place
    assert looks_like(app, before)


def test_what_was_half_typed_is_forgotten(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.go_to(GENERATE)
    number = app.reveal(app.page.get_by_role("spinbutton")).first
    value = number.input_value()
    number.fill("7")
    app.page.go_back()
    app.settle()
    app.page.go_forward()
    app.settle()
    expect(app.reveal(app.page.get_by_role("spinbutton")).first).to_have_value(value)
