"""A row of options in a browser: what it shows, what Python hears of it, and what is not undone by an older answer."""

import math
import re
import time
from collections.abc import Callable, Iterator

import pytest
import streamlit
from playwright.sync_api import BrowserContext, Locator, Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from headlight.app.components import Choice, Number, Option, Several, Switch, Text, option_row
from headlight.app.components import options as row_of_options
from tests.app.components.conftest import FIRST_DRAWING, go
from tests.app.components.options import BEGUN, FRUIT, GROUPS, HELP, SIZES
from tests.sessions.client import CLEAR_CACHES

PAGE = "options_page.py"
# Lets all that the server says arrive so many milliseconds later, in its order, and notes from where.
LATE = """(() => {
    const listen = WebSocket.prototype.addEventListener;
    WebSocket.prototype.addEventListener = function (kind, hear, ...others) {
        const waiting = [];
        const late = (event) => {
            window.socket = this;
            if (!window.late && waiting.length === 0) return hear.call(this, event);
            waiting.push(event);
            setTimeout(() => hear.call(this, waiting.shift()), window.late ?? 0);
        };
        return listen.call(this, kind, kind === "message" ? late : hear, ...others);
    };
})()"""
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def window(desktop: BrowserContext) -> Iterator[Page]:
    """A tab in which the server's answers can be held up."""
    page = desktop.new_page()
    page.add_init_script(LATE)
    page.on("websocket", lambda socket: socket.on("framereceived", lambda message: print(*_parts(message))))
    yield page
    page.close()


@pytest.fixture
def opened(window: Page, address: str) -> Open:
    """Opens the page."""

    def open_it() -> Page:
        window.mouse.move(0, 0)
        go(window, address)
        expect(window.get_by_role("radiogroup")).to_be_visible(timeout=FIRST_DRAWING)
        expect(_heard(window)).to_have_text(_said())
        return window

    return open_it


def _parts(message: bytes | str) -> list[object]:
    """What pytest prints of a message where a test fails: when, its kind, how its script ended, where a delta goes."""
    said = ForwardMsg.FromString(message) if isinstance(message, bytes) else ForwardMsg()
    return [f"{time.monotonic():.3f}", said.WhichOneof("type"), said.script_finished, *said.metadata.delta_path]


def _run_ended() -> Callable[[bytes | str], bool]:
    """Whether a message ends a run that began since: the end of an earlier run may come after the click."""
    kinds: list[object] = []

    def ended(message: bytes | str) -> bool:
        kinds.append(_parts(message)[1])
        return "new_session" in kinds and kinds[-1] == "script_finished"

    return ended


def _heard(page: Page) -> Locator:
    return page.get_by_test_id("stText")


def _said(**changed: object) -> str:
    """What the page says that Python has."""
    return " ".join(f"{name}={value!r}" for name, value in {**BEGUN, **changed}.items())


def test_each_control_shows_what_python_has(opened: Open) -> None:
    page = opened()
    assert page.get_by_role("radio").evaluate_all("all => all.map(each => each.checked)") == [False, True, False]
    expect(page.get_by_role("combobox", name="Fruit", exact=True)).to_have_value(FRUIT["b"])
    expect(page.get_by_role("switch", name="Ripe")).not_to_be_checked()
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("")
    expect(page.get_by_placeholder("nameless")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Count")).to_have_value("3")
    expect(page.get_by_role("spinbutton", name="At most")).to_have_value("")
    expect(page.get_by_role("slider", name="Weight")).to_have_value("0.5")
    expect(page.locator("output")).to_have_text("0.50")
    expect(page.get_by_role("button", name="Press")).to_be_enabled()


def test_texts_are_never_markup(opened: Open) -> None:
    page = opened()
    assert page.locator(".segment").all_text_contents() == [*SIZES.values()]
    page.locator("select").focus()
    assert page.locator("select option").all_text_contents() == [*FRUIT.values()]
    assert page.locator(".options b, .options img").count() == 0


def test_a_long_list_is_filled_when_the_user_turns_to_it(opened: Open) -> None:
    page = opened()
    options, fruit = page.locator("select option"), page.get_by_role("combobox", name="Fruit", exact=True)
    value = fruit.input_value()
    assert options.all_text_contents() == [value]
    fruit.click()
    assert options.all_text_contents() == [*FRUIT.values()]
    assert fruit.input_value() == value
    heads = "all => all.map(group => [group.label, group.firstElementChild.text, group.childElementCount])"
    starts, ends = [start for _, start in GROUPS], [*(start for _, start in GROUPS[1:]), len(FRUIT)]
    names = [" ".join(each.split()) for each in FRUIT.values()]
    assert page.locator("select optgroup").evaluate_all(heads) == [
        [name, names[start], end - start] for (name, start), end in zip(GROUPS, ends, strict=True)
    ]
    assert page.locator("select > option").all_text_contents() == [*FRUIT.values()][: starts[0]]


def test_python_hears_each_change_as_a_value(opened: Open) -> None:
    page = opened()
    page.get_by_role("radio", name="small").click()
    expect(_heard(page)).to_have_text(_said(size=1))
    page.get_by_role("combobox", name="Fruit", exact=True).focus()
    page.get_by_role("combobox", name="Fruit", exact=True).select_option("fruit 7")
    expect(_heard(page)).to_have_text(_said(size=1, fruit=7))
    page.get_by_role("textbox", name="Name", exact=True).fill("<b>x</b>")
    expect(_heard(page)).to_have_text(_said(size=1, fruit=7))  # not before it is entered
    page.keyboard.press("Enter")
    expect(_heard(page)).to_have_text(_said(size=1, fruit=7, name="<b>x</b>"))
    page.get_by_role("spinbutton", name="Count").fill("9")
    page.keyboard.press("Tab")
    expect(_heard(page)).to_have_text(_said(size=1, fruit=7, name="<b>x</b>", count=9))
    page.get_by_role("spinbutton", name="At most").fill("4")
    page.keyboard.press("Enter")
    page.get_by_role("slider", name="Weight").press("ArrowRight")
    expect(page.locator("output")).to_have_text("0.55")
    rest = {"size": 1, "fruit": 7, "name": "<b>x</b>", "count": 9, "weight": 0.55}
    expect(_heard(page)).to_have_text(_said(**rest, most=4))
    page.get_by_role("spinbutton", name="At most").fill("")
    page.keyboard.press("Enter")
    expect(_heard(page)).to_have_text(_said(**rest))


def test_several_are_typed_taken_out_and_found_by_their_beginning(opened: Open) -> None:
    page = opened()
    basket = page.get_by_role("combobox", name="Basket")
    assert page.get_by_placeholder("empty").count() == 1
    for typed, heard in (("apple", ("a",)), ("<img", ("a", "b")), ("apple", ("a", "b")), ("none such", ("a", "b"))):
        basket.fill(typed)
        basket.press("Enter")
        expect(_heard(page)).to_have_text(_said(basket=heard))
        expect(basket).to_have_value("")
        expect(basket).to_be_focused()
    assert page.locator(".chosen button").all_text_contents() == [FRUIT["a"], FRUIT["b"]]
    page.get_by_role("button", name="remove apple").click()
    expect(_heard(page)).to_have_text(_said(basket=("b",)))
    expect(basket).to_be_focused()
    basket.press("Backspace")
    expect(_heard(page)).to_have_text(_said())


def test_a_button_is_pressed_once_a_click_and_not_again_by_other_changes(opened: Open) -> None:
    page = opened()
    page.evaluate("window.late = 300")
    press = page.get_by_role("button", name="Press")
    press.click()
    page.get_by_role("radio", name="small").click()  # before the server has answered
    expect(_heard(page)).to_have_text(_said(size=1, press=1))
    press.click()
    expect(_heard(page)).to_have_text(_said(size=1, press=2))
    page.get_by_role("switch", name="Ripe").click()
    expect(press).to_be_disabled()
    expect(_heard(page)).to_have_text(_said(size=1, press=2, ripe=True))


def test_a_line_of_links_says_what_they_are_and_the_focus_stays_on_one_that_gets_other_words(opened: Open) -> None:
    page = opened()
    page.get_by_role("button", name="After 0").focus()
    for pressed in (1, 2):
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name=f"After {pressed}")).to_be_focused()
        expect(_heard(page)).to_have_text(_said(press=pressed))


def test_an_older_answer_undoes_no_later_change(opened: Open, window: Page) -> None:
    with window.expect_websocket() as socket:
        page = opened()
    ripe = page.get_by_role("switch", name="Ripe")
    page.evaluate("window.late = 3000")
    with socket.value.expect_event("framereceived", _run_ended()):
        page.get_by_role("radio", name="small").click()
    ripe.click()  # the server has answered, and the answer is on its way
    ripe.evaluate("""box => {
        [window.seen, window.heard] = [[], []];
        const heard = () => document.querySelector("[data-testid=stText]").textContent;
        setInterval(() => (window.seen.push(box.checked), window.heard.push(heard())), 5);
    }""")
    expect(_heard(page)).to_have_text(_said(size=1, ripe=True))
    assert _said(size=1) in page.evaluate("window.heard")
    assert page.evaluate("window.seen.every((checked) => checked)")


def test_what_python_changes_or_refuses_is_shown(opened: Open) -> None:
    page = opened()
    name = page.get_by_role("textbox", name="Name", exact=True)
    page.get_by_role("button", name="Call it Joe").click()
    expect(name).to_have_value("Joe")
    name.fill("refused")
    name.press("Enter")
    expect(name).to_have_value("Joe")


def test_what_was_heard_is_not_shown_again_when_the_server_has_forgotten_it(opened: Open) -> None:
    page = opened()
    page.get_by_role("radio", name="small").click()
    expect(_heard(page)).to_have_text(_said(size=1))
    page.evaluate("message => window.socket.send(new Uint8Array(message))", [*CLEAR_CACHES])
    page.get_by_role("button", name="Call it Joe").click()
    expect(_heard(page)).to_have_text(_said())
    expect(page.get_by_role("radio", name="medium")).to_be_checked()


def test_what_is_half_typed_and_the_focus_stay_when_another_option_comes_and_goes(opened: Open) -> None:
    page = opened()
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("half")
    page.get_by_role("radio", name="<b>large</b>").evaluate("radio => radio.click()")  # the focus stays in the text
    expect(page.get_by_role("switch", name="Whole")).to_be_checked()
    expect(name).to_be_focused()
    expect(name).to_have_value("half")
    page.get_by_role("radio", name="<b>large</b>").press("ArrowLeft")
    expect(page.get_by_role("switch", name="Whole")).to_have_count(0)
    expect(page.get_by_role("radio", name="medium")).to_be_focused()
    expect(_heard(page)).to_have_text(_said(name="half"))  # left by the focus, it was entered


def test_a_number_that_is_not_allowed_is_not_taken_and_looks_so(opened: Open) -> None:
    page = opened()
    count, ripe = page.get_by_role("spinbutton", name="Count"), page.get_by_role("switch", name="Ripe")
    border = "box => getComputedStyle(box).borderColor"
    before = count.evaluate(border)
    for n_changes, typed in enumerate(["10", "0", "1.5", ""], start=1):
        count.fill(typed)
        count.press("Enter")
        assert count.evaluate("box => box.validationMessage")  # the browser's own, which it shows beside the box
        assert count.evaluate(border) != before
        ripe.click()
        expect(_heard(page)).to_have_text(_said(ripe=bool(n_changes % 2)))
    count.fill("7")
    count.press("Enter")
    expect(_heard(page)).to_have_text(_said(count=7))


def test_each_control_is_explained_to_the_eye_and_to_the_ear(opened: Open) -> None:
    page = opened()
    mark, tooltip = page.locator("label.explained", has_text="Size"), page.locator(".tooltip").first
    for tell, be_silent in ((mark.hover, lambda: page.mouse.move(0, 0)), (mark.focus, mark.blur)):
        tell()
        expect(tooltip).to_contain_text(HELP)
        be_silent()
        expect(tooltip).not_to_be_visible()
    assert page.get_by_role("radiogroup", name="Size").evaluate("group => group.ariaDescription") == HELP
    assert page.locator("label.explained").count() == 1
    assert not page.get_by_role("button", name=re.compile("^What is")).count()
    page.get_by_role("button", name="Press").hover()
    expect(tooltip).to_have_text("Counts.")


def test_controls_stand_on_one_line_and_break_into_several_on_a_phone(opened: Open) -> None:
    page = opened()
    page.set_viewport_size({"width": 2100, "height": 1000})
    bottom = "all => all.map(each => Math.round(each.getBoundingClientRect().bottom))"
    assert len(set(page.locator(".options").first.locator(".option").evaluate_all(bottom))) == 1
    page.set_viewport_size({"width": 390, "height": 800})
    right = "all => all.map(each => Math.round(each.getBoundingClientRect().right))"
    assert max(page.locator(".option, .option *").evaluate_all(right)) <= 390
    page.set_viewport_size({"width": 1280, "height": 1000})


OPTION = ("it", "It", None, lambda value: None)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (Choice(*OPTION, options=SIZES), "gone"),
        (Choice(*OPTION, options=SIZES), 1),
        (Several("it", "It", (), lambda value: None, options=SIZES), "small"),
        (Switch(*OPTION), "true"),
        (Text(*OPTION), 1),
        (Number(*OPTION, least=1, most=3), None),
        (Number(*OPTION, least=1, most=3), 4),
        (Number(*OPTION, least=1, most=3), math.nan),
        (Number(*OPTION, least=1, most=3), 1.5),
        (Number(*OPTION, least=1, most=3), "2"),
        (Number(*OPTION, least=1, most=3), True),
    ],
)
def test_what_an_option_does_not_have_changes_nothing(
    option: Option, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(value))):
        option.read(value)
    calls: list[object] = []
    copy = type(option)(**{**vars(option), "change": calls.append})
    _hear(monkeypatch, [copy], {"it": (value, 1)}, {})
    assert calls == []


def test_a_change_is_told_once_and_one_of_an_option_that_is_gone_never(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    row = [Text("it", "It", "", calls.append)]
    session: dict[str, object] = {}
    _hear(monkeypatch, row, {"gone": ("x", 5), "it": ("first", 3)}, session)
    assert calls == ["first"]
    _hear(monkeypatch, row, {"it": ("first", 3)}, session)
    assert calls == ["first"]
    _hear(monkeypatch, row, {"it": ("second", 6)}, session)
    assert calls == ["first", "second"]


def _hear(
    monkeypatch: pytest.MonkeyPatch,
    row: list[Option],
    reported: dict[str, object],
    session: dict[str, object] | None = None,
) -> dict[str, object]:
    """Draw the row, then have the browser report; what the session then holds."""
    state = {} if session is None else session
    notes: list[Callable[[], None]] = []
    monkeypatch.setattr(streamlit, "session_state", state)
    monkeypatch.setattr(row_of_options, "mount", lambda *_, changed, **others: notes.append(changed))
    option_row(row, key="row")
    state["row"] = {"value": {"epoch": 0, "value": reported}}
    notes[0]()
