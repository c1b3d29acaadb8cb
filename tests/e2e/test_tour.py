"""The first visitor's tour: attention in 45 seconds, then from part to part; it comes once, and can be begun again."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Locator, expect

from headlight.app.frame.tour import STEPS
from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver
from tests.serving import PATIENCE

LAST_FRAME = 6
LENS = next(view for view in VIEWS if view.slug == "lens")
LEAVING: tuple[Callable[[Driver], None], ...] = (lambda app: app.run("one two one two"), lambda app: app.go_to(LENS))
SIDES = (("x", "width"), ("y", "height"))


@pytest.fixture
def newcomer(browser: Browser, server: str) -> Iterator[Driver]:
    driver = Driver(browser, server, newcomer=True)
    yield driver
    driver.close()
    assert not driver.complaints


def _minute(driver: Driver) -> Locator:
    return driver.page.get_by_role("dialog", name="Attention in 45 seconds")


def _card(driver: Driver) -> Locator:
    return driver.page.get_by_role("dialog", name="Tour")


def _open_steps(driver: Driver) -> None:
    driver.open()
    for _ in range(LAST_FRAME):
        _minute(driver).get_by_role("button", name="Next").click()
    _minute(driver).get_by_role("button", name="What else is here").click()


def _expect_framed(driver: Driver, part: str) -> None:
    """Wait until the frame is around the part, which goes on moving while the page below is drawn."""
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        box = driver.page.locator(f".st-key-{part}").bounding_box()
        frame = driver.page.locator(".st-key-headlight-tour .frame").bounding_box()
        assert box
        assert frame
        off = [frame[side] + frame[size] / 2 - box[side] - box[size] / 2 for side, size in SIDES]
        if max(map(abs, off)) < 2:
            return
        driver.page.wait_for_timeout(50)
    raise AssertionError(f"The frame is {off} pixels beside {part}.")


# The rows of the first panel's matrix whose picture nothing covers, of so many.
DRAWN_ROWS = """([panel, count]) => {
    const marks = panel.querySelector("canvas.marks"), context = marks.getContext("2d");
    const left = parseFloat(getComputedStyle(panel.querySelector("figcaption")).marginLeft) * devicePixelRatio;
    const size = marks.width - left - parseFloat(getComputedStyle(panel.querySelector("figcaption")).marginRight);
    const alpha = row => context.getImageData(left + 0.7 * size, 6 + ((row + 0.5) * size) / count, 1, 1).data[3];
    const isCovered = row => alpha(row) > 250;
    return Array.from({ length: count }, (_, row) => row).filter(row => !isCovered(row)).length;
}"""


def test_the_first_minute_goes_on_by_space_and_by_doing(newcomer: Driver) -> None:
    newcomer.page.goto(newcomer.url)  # and no wait until all is drawn, in which the first frame may pass
    card = _minute(newcomer)
    card.get_by_role("button", name="Pause").click()
    newcomer.settle()
    card.get_by_role("button", name="“key”").click()
    expect(card).to_contain_text("So does the model: “key”, with a probability of 96%")
    expect(newcomer.page.locator(".cover.others")).to_contain_text("kite <1%")
    newcomer.page.keyboard.press(" ")
    expect(card).to_contain_text("From “small”, one of its heads, L1H1, puts 85% of its attention on “key”")
    newcomer.page.keyboard.press(" ")
    panel = newcomer.panels.first.element_handle()
    rows = [newcomer.page.evaluate(DRAWN_ROWS, [panel, 24])]
    expect(card).to_contain_text("“small” → “key” 0.85")
    rows.append(newcomer.page.evaluate(DRAWN_ROWS, [panel, 24]))
    assert rows[0] < rows[1] == 24
    newcomer.page.keyboard.press(" ")
    expect(card).to_contain_text(
        "16 heads, in 4 layers. On this text 2 find an earlier copy, 2 look one step back and 2 rest"
    )
    newcomer.page.keyboard.press(" ")
    card.get_by_role("button", name="Switch off L1H0 and L1H1").click()
    expect(card).to_contain_text("“key” falls from 96% to 0.1%. The model now guesses “club”.")
    expect(newcomer.page.locator(".cover.guess")).to_have_text("key 0.1%")
    expect(newcomer.page.locator(".cover.others")).to_contain_text("club 7%")
    expect(newcomer.page.locator(".cover.off")).to_have_count(2)
    card.get_by_role("button", name="Next").click()
    expect(newcomer.prompt).to_be_focused()
    expect(newcomer.page.locator(".shade")).to_be_hidden()
    card.get_by_role("button", name="Singular or plural?").click()
    expect(card).to_have_count(0)
    newcomer.page.wait_for_url(lambda url: "page=lens" in url)
    newcomer.settle()
    newcomer.page.get_by_role("button", name="Tour").click()
    for _ in range(LAST_FRAME):
        card.get_by_role("button", name="Next").click()
    card.get_by_role("button", name="Lesson: what an induction head is").click()
    expect(newcomer.page.locator("aside.pane")).to_contain_text("A word it cannot know")


def test_the_last_card_leaves_the_heads_in_sight(newcomer: Driver) -> None:
    newcomer.page.set_viewport_size({"width": 1440, "height": 900})
    newcomer.open()
    for _ in range(LAST_FRAME):
        _minute(newcomer).get_by_role("button", name="Next").click()
    expect(_minute(newcomer)).to_contain_text("Now your own text.")
    card = _minute(newcomer).bounding_box()
    assert card
    assert newcomer.panels.count() == 3
    for picture in (newcomer.board, *newcomer.panels.locator(".plot").all()):
        box = picture.bounding_box()
        assert box
        assert box["y"] + 0.75 * box["height"] < card["y"] or box["y"] > card["y"] + card["height"]


def test_the_first_minute_goes_on_by_itself_until_it_is_paused(newcomer: Driver) -> None:
    newcomer.page.goto(newcomer.url)
    card = _minute(newcomer)
    expect(card).to_contain_text("What would you say?")
    expect(card).to_contain_text("The model says “key”")
    card.get_by_role("button", name="Pause").click()
    newcomer.page.mouse.move(0, 0)  # on the card it would hold the time as well
    passed = card.locator(".step.now").get_attribute("style")
    newcomer.page.wait_for_timeout(500)
    assert card.locator(".step.now").get_attribute("style") == passed
    card.get_by_role("button", name="Play").click()
    newcomer.page.mouse.move(0, 0)
    expect(card).to_contain_text("To guess, the model looks back")


def test_the_first_minute_stands_still_where_less_motion_is_wanted(newcomer: Driver) -> None:
    newcomer.page.emulate_media(reduced_motion="reduce")
    newcomer.open()
    card = _minute(newcomer)
    expect(card.get_by_text("Pause")).to_be_hidden()
    for _ in range(3):
        card.get_by_role("button", name="Next").click()
    expect(card).to_contain_text("“small” → “key” 0.85")  # at once
    assert newcomer.page.evaluate(DRAWN_ROWS, [newcomer.panels.first.element_handle(), 24]) == 24


@pytest.mark.parametrize("query", [{"prompt": "A text that somebody has sent"}, {"lesson": "induction"}])
def test_the_first_minute_does_not_lie_over_a_link(newcomer: Driver, query: dict[str, str]) -> None:
    newcomer.open(**query)
    newcomer.page.wait_for_timeout(500)  # in which it would have come
    expect(_minute(newcomer).or_(_card(newcomer))).to_have_count(0)


def test_its_button_begins_it_on_a_linked_page(newcomer: Driver) -> None:
    newcomer.open(prompt="A text that somebody has sent")
    top = _top(newcomer)
    newcomer.page.get_by_role("button", name="Tour").click()
    expect(_minute(newcomer)).to_contain_text("24 tokens")
    assert _top(newcomer) == top  # where it is mounted it takes no room


def _top(driver: Driver) -> float:
    box = driver.page.locator(".st-key-headlight-view").bounding_box()
    assert box
    return box["y"]


def test_it_ends_where_another_run_or_page_is_looked_at(browser: Browser, server: str) -> None:
    """What it tells is of the first prompt's run, and its shade would lie over the other page."""
    for leave in LEAVING:
        with closing(Driver(browser, server, newcomer=True)) as driver:
            driver.open()
            _minute(driver).get_by_role("button", name="Next").click()
            driver.board.click()  # another choice on the same run leaves it open
            driver.settle()
            expect(_minute(driver)).to_be_visible()
            leave(driver)
            expect(_minute(driver).or_(_card(driver))).to_have_count(0)
            driver.page.go_back()
            driver.settle()
            expect(_minute(driver).or_(_card(driver))).to_have_count(0)
            assert not driver.complaints


def test_it_goes_through_all_steps_and_does_not_come_again(newcomer: Driver) -> None:
    _open_steps(newcomer)
    assert len(STEPS) <= 5
    for step in STEPS:
        expect(_card(newcomer)).to_contain_text(step.title)
        _expect_framed(newcomer, step.part)
        _card(newcomer).get_by_role("button", name="Done" if step is STEPS[-1] else "Next").click()
    expect(_card(newcomer)).to_have_count(0)
    newcomer.open()
    expect(_minute(newcomer).or_(_card(newcomer))).to_have_count(0)


def test_it_ends_by_key_and_begins_again_by_its_button(newcomer: Driver) -> None:
    _open_steps(newcomer)
    _card(newcomer).get_by_role("button", name="Next").click()
    newcomer.page.keyboard.press("Escape")
    expect(_card(newcomer)).to_have_count(0)
    newcomer.page.get_by_role("button", name="Tour").click()
    expect(_minute(newcomer)).to_contain_text("24 tokens")
    _minute(newcomer).get_by_role("button", name="Skip").click()
    expect(_minute(newcomer)).to_have_count(0)


def test_it_can_be_gone_through_and_left_by_key(newcomer: Driver) -> None:
    _open_steps(newcomer)
    newcomer.page.get_by_role("button", name="Tour").focus()
    newcomer.page.keyboard.press("Tab")
    expect(_card(newcomer).get_by_role("button", name="Close")).to_be_focused()
    newcomer.page.keyboard.press("Tab")
    expect(_card(newcomer).get_by_role("button", name="Next")).to_be_focused()
    newcomer.page.keyboard.press("Enter")
    expect(_card(newcomer)).to_contain_text(STEPS[1].title)
    newcomer.page.keyboard.press("Tab")
    expect(_card(newcomer).locator(":focus")).to_have_count(0)


def test_the_keyboard_begins_at_the_first_minute_and_stays_there(newcomer: Driver) -> None:
    newcomer.page.goto(newcomer.url)
    card = _minute(newcomer)
    expect(card).to_be_focused()
    for _ in range(2):
        newcomer.page.keyboard.press("Tab")
        expect(card.get_by_role("button", name="Skip")).to_be_focused()
        card.get_by_role("button", name="Next").press("Enter")
        expect(card).to_be_focused()
    for _ in range(LAST_FRAME - 2):
        newcomer.page.keyboard.press(" ")
    card.get_by_role("button", name="What else is here").press("Enter")
    expect(_card(newcomer)).to_be_focused()


def test_the_keyboard_goes_on_at_what_was_spoken_of_last(newcomer: Driver) -> None:
    """At the first control of the text: the head that its caption names, once it does, or the switch after that."""
    newcomer.page.goto(newcomer.url)
    expect(_minute(newcomer)).to_be_focused()
    newcomer.page.keyboard.press("Escape")
    expect(_minute(newcomer)).to_have_count(0)
    tokens = newcomer.page.get_by_role("listbox", name=re.compile("^Tokens"))
    for _ in range(2):
        newcomer.page.keyboard.press("Tab")
        if tokens.evaluate("tokens => tokens.matches(':focus')"):
            break
    expect(tokens).to_be_focused()


def test_the_keyboard_goes_back_to_the_button_that_began_it(newcomer: Driver) -> None:
    newcomer.open(prompt="A text that somebody has sent")
    button = newcomer.page.get_by_role("button", name="Tour")
    button.press("Enter")
    expect(_minute(newcomer)).to_be_visible()
    newcomer.settle()
    newcomer.page.keyboard.press("Tab")
    expect(_minute(newcomer).locator(":focus")).to_have_count(1)
    newcomer.page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_the_first_minute_leaves_the_keyboard_to_who_types(newcomer: Driver) -> None:
    newcomer.page.goto(newcomer.url)
    newcomer.prompt.focus()
    expect(_minute(newcomer)).to_be_visible()
    newcomer.page.keyboard.type("one")
    expect(newcomer.prompt).to_be_focused()
    expect(newcomer.prompt).to_have_value(re.compile("one"))


def test_no_step_speaks_of_a_part_that_is_under_the_header(newcomer: Driver) -> None:
    _open_steps(newcomer)
    header = newcomer.page.get_by_role("banner").bounding_box()
    assert header
    for step in STEPS:
        expect(_card(newcomer)).to_contain_text(step.title)
        part = newcomer.page.locator(f".st-key-{step.part}").bounding_box()
        assert part
        assert part["y"] >= header["y"] + header["height"], step.title
        _card(newcomer).get_by_role("button", name="Done" if step is STEPS[-1] else "Next").click()


def test_its_frame_follows_the_bar_that_grows(newcomer: Driver) -> None:
    _open_steps(newcomer)
    _expect_framed(newcomer, STEPS[0].part)
    newcomer.page.get_by_role("button", name="Compare A | B").click()
    expect(newcomer.page.get_by_role("textbox", name="Prompt B")).to_be_visible()
    _expect_framed(newcomer, STEPS[0].part)
    newcomer.page.get_by_role("textbox", name="Prompt A").click()  # which opens it
    _expect_framed(newcomer, STEPS[0].part)
