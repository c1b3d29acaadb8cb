"""From page to page by the links in the header."""

import re
from urllib.parse import parse_qs, urlencode, urlparse

import pytest
from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver, page_of

COPIED = """async () => {
  const [item] = await navigator.clipboard.read();
  const picture = await createImageBitmap(await item.getType("image/png"));
  const context = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  context.drawImage(picture, 0, 0);
  return [picture.width, picture.height, ...context.getImageData(0, 0, 1, 1).data];
}"""

PROMPT = "When Mary and John went to the shop, John gave a drink to"
ATTENTION, INSIDE, LENS, FLOW = (
    next(view for view in VIEWS if view.slug == slug) for slug in ("attention", "inside", "lens", "flow")
)
BAR, NAVIGATION = b"Type a sentence", b"headlight.nav_bar"  # what only the messages that draw these hold


def headings(app: Driver) -> list[str]:
    """What the page says it is: its heading, and the marked links."""
    marked = app.page.locator("nav [aria-current]").filter(visible=True)
    return [*app.page.locator("h1").all_inner_texts(), *marked.all_inner_texts()]


@pytest.mark.usefixtures("own_session")
def test_a_page_is_marked_and_the_bar_above_it_stays(app: Driver) -> None:
    heard: list[bytes] = []
    app.page.on("websocket", lambda socket: socket.on("framereceived", lambda message: heard.append(bytes(message))))
    app.open(prompt=PROMPT)
    assert any(BAR in message for message in heard)
    assert headings(app) == [ATTENTION.title, ATTENTION.title]
    app.prompt.fill("half typed")
    app.prompt.blur()
    app.settle()
    heard.clear()
    app.go_to(LENS)
    assert headings(app) == [LENS.title, LENS.title]
    app.go_to(FLOW)
    assert headings(app) == [FLOW.title, FLOW.title]
    assert any(NAVIGATION in message for message in heard)
    assert not any(BAR in message for message in heard)
    expect(app.prompt).to_have_value("half typed")


def test_back_and_forward_go_through_the_pages(app: Driver) -> None:
    app.open(prompt=PROMPT)
    for view in (LENS, FLOW):
        app.go_to(view)
    for go, view in ((app.page.go_back, LENS), (app.page.go_back, ATTENTION), (app.page.go_forward, LENS)):
        go()
        app.settle()
        assert headings(app) == [view.title, view.title]
        assert page_of(app.page.url) == view.slug


def test_a_prompt_is_run_on_the_page_that_was_gone_to(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.go_to(LENS)
    app.run("The keys to the cabinet")
    app.page.wait_for_url(lambda url: parse_qs(urlparse(url).query)["prompt"] == ["The keys to the cabinet"])
    app.settle()
    assert headings(app) == [LENS.title, LENS.title]
    assert page_of(app.page.url) == LENS.slug


def test_a_link_opened_elsewhere_shows_the_same_prompt(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="1.1")
    link = app.link(LENS)
    link.hover()
    with app.page.context.expect_page() as elsewhere:
        link.click(modifiers=["ControlOrMeta"])
    expect(elsewhere.value.get_by_role("textbox", name="Prompt", exact=True)).to_have_value(PROMPT)
    expect(elsewhere.value.locator("h1")).to_have_text(LENS.title)
    assert "heads=1.1" in elsewhere.value.url
    elsewhere.value.close()
    assert headings(app) == [ATTENTION.title, ATTENTION.title]


@pytest.mark.usefixtures("own_session")  # the logo's link loads the page anew
def test_a_heads_name_opens_its_internals_and_the_logo_begins_again(app: Driver) -> None:
    app.open(prompt="one two three one two", heads="1.2 0.1")
    app.page.locator(".panel strong").get_by_role("button", name="L0H1").click()
    app.page.get_by_role("menuitem", name="Internals").click()
    app.page.wait_for_url(re.compile(r"heads=0\.1\+1\.2.*page=inside"))
    expect(app.page.get_by_role("combobox", name="Head", exact=True)).to_have_value("L0H1")
    app.page.get_by_role("link", name="Start again with the first example").click()
    app.page.wait_for_url(lambda url: "inside" not in url and "quick" in url)


def test_the_keyboard_opens_a_list_and_keeps_its_place(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.page.get_by_role("button", name=FLOW.group).focus()
    in_list = [view for view in VIEWS if view.group == FLOW.group]
    for key in ("Enter", *["Tab"] * (in_list.index(FLOW) + 1), "Enter"):
        app.page.keyboard.press(key)
    app.page.wait_for_url(lambda url: page_of(url) == FLOW.slug)
    app.settle()
    assert headings(app) == [FLOW.title, FLOW.title]
    app.page.get_by_role("link", name=LENS.title).focus()
    app.page.keyboard.press("Enter")
    app.page.wait_for_url(lambda url: page_of(url) == LENS.slug)
    app.settle()
    expect(app.page.get_by_role("link", name=LENS.title)).to_be_focused()


def test_what_does_not_fit_is_one_list(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.page.set_viewport_size({"width": 390, "height": 800})
    app.settle()
    pages = app.page.get_by_role("navigation", name="Pages")
    expect(pages.get_by_role("button")).to_have_text(ATTENTION.title)
    pages.get_by_role("button").click()
    expect(pages.get_by_role("link")).to_have_text([view.title for view in VIEWS])
    app.page.keyboard.press("Escape")
    expect(pages.get_by_role("link")).to_have_count(0)
    pages.get_by_role("button").click()
    pages.get_by_role("link", name=FLOW.title, exact=True).click()
    app.page.wait_for_url(lambda url: page_of(url) == FLOW.slug)
    expect(pages.get_by_role("button")).to_have_text(FLOW.title)
    expect(pages.get_by_role("link")).to_have_count(0)
    app.page.set_viewport_size({"width": 1280, "height": 800})
    expect(pages.get_by_role("button")).to_have_count(len({view.group for view in VIEWS if view.group}))
    expect(pages.get_by_role("link")).to_have_count(sum(not view.group for view in VIEWS))


@pytest.mark.parametrize("page", ["nowhere", "", "../lens", "<b>x</b>"])
def test_a_page_that_is_not_there_is_named_as_left_out(app: Driver, page: str) -> None:
    app.open(prompt=PROMPT, page=page)
    expect(app.page.get_by_text("Parts of this link were ignored")).to_contain_text("page")
    assert headings(app) == [ATTENTION.title, ATTENTION.title]


def test_a_link_by_a_pages_former_name_opens_it_by_its_own(app: Driver) -> None:
    app.page.goto(f"{app.url}/?{urlencode({'prompt': PROMPT, 'page': 'head'})}")
    app.page.wait_for_url(lambda url: page_of(url) == INSIDE.slug)
    app.settle()
    assert headings(app)[-1] == INSIDE.title
    expect(app.page.get_by_text("Parts of this link were ignored")).to_have_count(0)


# Counts how often the new page's heading is there, and how often with something of the page before.
WATCHING = """() => {
    [window.there, window.mixed] = [0, 0];
    const has = (name) => Number(document.querySelector(`.st-key-headlight-${name}`)?.checkVisibility() ?? false);
    new MutationObserver(() => {
        window.there += has("heading-Logit-lens");
        window.mixed += has("heading-Logit-lens") * has("grid");
    }).observe(document.body, { childList: true, subtree: true });
}"""


def test_nothing_of_the_page_before_stands_below_the_heading_of_one_that_takes_long(app: Driver) -> None:
    app.open(prompt="a lens of so many tokens takes its time " * 15)
    app.page.evaluate(WATCHING)
    app.go_to(LENS)
    assert app.page.evaluate("[window.there > 1, window.mixed]") == [True, 0]


def test_the_picture_is_copied_as_large_as_it_is_said_to_be(app: Driver) -> None:
    app.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    app.open(prompt=PROMPT)
    app.page.get_by_role("button", name="Copy picture").click()
    expect(app.page.get_by_role("button", name="Copied")).to_be_visible()
    assert app.page.evaluate(COPIED) == [3200, 1800, 255, 255, 255, 255]
    expect(app.page.get_by_role("button", name="Copy picture")).to_be_visible()
