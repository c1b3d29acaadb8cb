"""The table in a browser: what its cells say, how it is sorted, and which row is chosen, in the list's own order."""

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.components.conftest import FIRST_DRAWING, go
from tests.app.components.rows import HELP, HOSTILE, LONG, NAMES
from tests.e2e.settling import settle

PAGE = "rows_page.py"
SHOWN = {
    "fruit": [" ".join(name.split()) for name in NAMES],
    "value": ["0.500", "–", "0.123", "10.000", "2.000", "−0.250"],
    "count": ["7", "30", "–", "200", "1", "30"],
    "<b>note</b>": ["–", "b", "a", "–", "c", "a"],
}
MANY = 5000
IN_PAGE = 60  # rows that may be there beside those in sight
Open = Callable[..., Page]


@pytest.fixture
def open_table(tab: Page, address: str) -> Open:
    """Opens the page with the few rows, or so many."""

    def opened(many: int | None = None, **query: str) -> Page:
        parameters = query if many is None else {"many": str(many), **query}
        go(tab, f"{address}&{urlencode(parameters)}")
        expect(tab.locator("tbody td").first).to_be_visible(timeout=FIRST_DRAWING)
        return tab

    return opened


def column(page: Page, name: str) -> Locator:
    return page.locator(f"tbody td:nth-child({[*SHOWN].index(name) + 1})")


def order(page: Page) -> list[int]:
    """The rows' places in the list, from top to bottom."""
    names = [" ".join(text.split()) for text in column(page, "fruit").all_text_contents()]
    return [SHOWN["fruit"].index(text) for text in names]


def named(page: Page, name: str) -> Locator:
    return page.get_by_role("columnheader").get_by_role("button", name=name, exact=True)


def chosen(page: Page) -> list[str | None]:
    return [each.text_content() for each in page.locator("tr[aria-selected=true]").locator("td:nth-child(1)").all()]


def test_a_cell_has_its_columns_decimals_a_sign_what_stands_after_it_or_several_texts(open_table: Open) -> None:
    page = open_table(kinds="yes")
    rows = [row.locator("td").all_text_contents() for row in page.locator("tbody tr").all()]
    assert rows == [
        ["4.15", "+1.5", "1 of 16", f"·the{HOSTILE}"],
        ["0.00042", "−1.5", "2 of 16", "a"],
        ["–", "0.0", "3 of 16", ""],
    ]
    assert page.locator("td .one").all_text_contents() == ["·the", HOSTILE, "a"]


def test_cells_are_text_and_numbers_have_their_decimals(open_table: Open) -> None:
    page = open_table()
    assert page.get_by_role("columnheader").all_text_contents() == [*SHOWN]
    for name, texts in SHOWN.items():
        expect(column(page, name)).to_have_text(texts)
    assert page.locator("img[src=x], b").count() == 0
    look = "cell => [getComputedStyle(cell).textAlign, getComputedStyle(cell).fontVariantNumeric]"
    for name in ("value", "count"):
        assert all(each.evaluate(look) == ["right", "tabular-nums"] for each in column(page, name).all())
        assert page.get_by_role("columnheader", name=name).evaluate(look)[0] == "right"
    assert column(page, "fruit").nth(3).evaluate(look)[0] == "left"
    heights = {each.evaluate("row => row.getBoundingClientRect().height") for each in page.locator("tr").all()}
    assert len(heights) == 1  # a row is a line, whatever stands in it


@pytest.mark.parametrize(
    ("name", "ascending", "descending"),
    [
        ("value", [5, 2, 0, 4, 3, 1], [3, 4, 0, 2, 5, 1]),
        ("count", [4, 0, 1, 5, 3, 2], [3, 1, 5, 0, 4, 2]),  # 30 twice: as in the list
        ("<b>note</b>", [2, 5, 1, 4, 0, 3], [4, 1, 2, 5, 0, 3]),
    ],
)
def test_a_columns_name_sorts_both_ways_and_then_no_more(
    open_table: Open, name: str, ascending: list[int], descending: list[int]
) -> None:
    page = open_table()
    cell = page.get_by_role("columnheader", name=name)
    for expected, direction, said in [
        (ascending, "ascending", f"sorted by {name}, ascending"),
        (descending, "descending", f"sorted by {name}, descending"),
        ([0, 1, 2, 3, 4, 5], "none", "sorted in the list's own order"),
        (ascending, "ascending", f"sorted by {name}, ascending"),
    ]:
        named(page, name).click()
        assert order(page) == expected
        expect(cell).to_have_attribute("aria-sort", direction)
        expect(page.locator(".live")).to_have_text(said)
    named(page, "fruit").press("Enter")
    assert order(page) == [1, 2, 5, 0, 4, 3]  # as people sort: a capital is no letter of its own
    expect(cell).to_have_attribute("aria-sort", "none")


def test_the_chosen_row_is_told_by_its_place_in_the_list(open_table: Open) -> None:
    page = open_table()
    expect(page.get_by_text("chosen None")).to_be_visible()
    named(page, "value").click()
    column(page, "count").first.click()
    expect(page.get_by_text("chosen 5")).to_be_visible()
    assert chosen(page) == [NAMES[5]]
    named(page, "value").click()
    assert chosen(page) == [NAMES[5]]
    column(page, "fruit").filter(has_text="pear").click()
    expect(page.get_by_text("chosen 0")).to_be_visible()
    assert chosen(page) == [NAMES[0]]
    column(page, "fruit").filter(has_text="pear").click()
    expect(page.get_by_text("chosen None")).to_be_visible()
    assert chosen(page) == []


def test_order_and_choice_outlast_new_values_and_the_choice_no_new_list(open_table: Open) -> None:
    page = open_table()
    named(page, "count").click()
    column(page, "fruit").filter(has_text="banana").click()
    expect(page.get_by_text("chosen 5")).to_be_visible()
    page.get_by_text("other values").click()
    expect(column(page, "value")).to_have_text([f"{place}.000" for place in (4, 0, 1, 5, 3, 2)])
    expect(page.get_by_text("chosen 5")).to_be_visible()
    assert chosen(page) == ["banana"]
    page.get_by_text("first two").click()
    expect(page.get_by_text("chosen None")).to_be_visible()
    expect(column(page, "count")).to_have_text(["7", "30"])
    assert chosen(page) == []
    page.get_by_text("first two").click()
    expect(column(page, "count")).to_have_count(6)
    expect(page.get_by_text("chosen None")).to_be_visible()


def test_the_table_is_used_by_keyboard_and_read_aloud(open_table: Open) -> None:
    page = open_table()
    table = page.get_by_role("grid")
    expect(table).to_have_accessible_name(re.compile(r"^Some fruit\. Arrow keys.* Enter chooses"))
    named(page, "count").click()
    table.focus()
    expect(table).to_have_attribute("aria-activedescendant", "row-4")
    for press, place in [("ArrowDown", 0), ("End", 2), ("ArrowDown", 2), ("ArrowUp", 3), ("Home", 4), ("PageDown", 2)]:
        page.keyboard.press(press)
        expect(table).to_have_attribute("aria-activedescendant", f"row-{place}")
        marked = page.locator(f"#row-{place} td").first
        assert marked.evaluate("cell => getComputedStyle(cell).boxShadow") != "none"
    page.keyboard.press("ArrowUp")
    expect(page.locator(".live")).to_have_text("row 5 of 6, fruit שלום, value 10.000, count 200, <b>note</b> –")
    for press in ("Enter", " "):
        page.keyboard.press(press)
        expect(page.get_by_text("chosen 3" if press == "Enter" else "chosen None")).to_be_visible()
    expect(page.locator(".live")).to_have_text("no row chosen")
    page.keyboard.press(" ")
    expect(page.get_by_role("row", selected=True)).to_have_count(1)
    expect(page.locator(".live")).to_contain_text("row 5 of 6, chosen, fruit")
    page.keyboard.press("Escape")
    expect(page.get_by_text("chosen None")).to_be_visible()


def test_a_row_stays_while_it_is_pressed_however_far_the_table_is_scrolled(open_table: Open) -> None:
    page = open_table(MANY)
    row, scroller = page.get_by_text("row 3", exact=True), page.locator(".scroller")
    row.hover()
    page.mouse.down()
    scroller.evaluate("box => new Promise(done => { box.onscrollend = done; box.scrollTo(0, 1e4); })")
    expect(row).to_have_count(1)
    page.mouse.up()
    expect(row).to_have_count(0)


def test_of_thousands_of_rows_those_in_sight_are_there(open_table: Open) -> None:
    page = open_table(MANY)
    table, names = page.get_by_role("grid"), page.locator("tbody td:first-child")
    expect(table).to_have_attribute("aria-rowcount", str(MANY + 1))
    assert page.locator("tbody tr").count() < IN_PAGE
    scroller = page.locator(".scroller")
    assert scroller.evaluate("box => box.clientHeight") < 400
    table.focus()
    page.keyboard.press("End")
    last = page.locator(f"#row-{MANY - 1}")
    expect(last).to_be_in_viewport(ratio=1)
    expect(last).to_have_attribute("aria-rowindex", str(MANY + 1))
    expect(page.get_by_role("columnheader").first).to_be_in_viewport(ratio=1)
    width = names.last.evaluate("cell => cell.clientWidth")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"chosen {MANY - 1}")).to_be_visible()
    named(page, "left").click()
    scroller.evaluate("box => box.scrollTo(0, 0)")
    expect(names.first).to_have_text(f"row {MANY - 1}")
    assert names.first.evaluate("cell => cell.clientWidth") == width
    scroller.evaluate("box => box.scrollTo(0, box.scrollHeight / 2)")
    middle = page.get_by_text(f"row {MANY // 2}", exact=True)
    expect(middle).to_be_in_viewport()
    middle.click()
    expect(page.get_by_text(f"chosen {MANY // 2}")).to_be_visible()
    assert page.locator("tbody tr").count() < IN_PAGE
    page.get_by_text("first two").click()
    expect(names).to_have_text(["row 1", "row 0"])


def test_a_row_that_moves_a_little_while_it_is_pressed_is_chosen(open_table: Open) -> None:
    page = open_table(MANY)
    page.locator("#row-3").hover()
    page.mouse.down()
    page.locator(".scroller").evaluate(
        """async (box) => {
          box.scrollBy(0, 3);
          for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
        }"""
    )
    page.mouse.up()
    expect(page.get_by_text("chosen 3")).to_be_visible()


def test_a_columns_help_and_a_cell_that_is_cut_off_are_told_at_the_pointer(open_table: Open) -> None:
    page = open_table()
    tooltip = page.locator(".tooltip:popover-open")
    expect(named(page, "value")).to_have_accessible_description(HELP)
    named(page, "value").hover()
    expect(tooltip).to_have_text(f"value{HELP}")
    column(page, "fruit").first.hover()
    expect(tooltip).to_have_count(0)
    column(page, "fruit").nth(4).hover()
    assert tooltip.locator("dd").text_content() == LONG
    assert LONG.split()[0] in (column(page, "fruit").nth(4).text_content() or "")
    page.mouse.down()
    expect(tooltip).to_have_count(0)
    page.mouse.up()  # a finger has told of the cell when it is lifted
    assert tooltip.locator("dd").text_content() == LONG


def test_columns_of_long_texts_share_the_room_that_others_leave(open_table: Open) -> None:
    page = open_table(two="yes")
    number, queries, keys = (each.evaluate("cell => cell.clientWidth") for each in page.locator("th").all())
    assert queries == pytest.approx(keys, abs=1)
    assert number < 150 < 300 < keys


def test_a_phone_shows_the_numbers_beside_a_text_that_is_cut_off(open_table: Open) -> None:
    page = open_table(phone="yes")
    cut_off = "all => all.map(cell => cell.scrollWidth > cell.clientWidth)"
    cells, scroller = page.locator("th button, td"), page.locator(".scroller")
    assert not any(cells.evaluate_all(cut_off))
    page.set_viewport_size({"width": 480, "height": 844})
    settle(page)
    assert scroller.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert [i for i, is_cut in enumerate(cells.evaluate_all(cut_off)) if is_cut] == [5]  # the long prompt
    page.set_viewport_size({"width": 340, "height": 844})
    settle(page)
    mask = "box => getComputedStyle(box).maskImage"
    assert scroller.evaluate("box => box.scrollWidth > box.clientWidth")
    assert "gradient" in scroller.evaluate(mask)
    scroller.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    expect(scroller).to_have_css("mask-image", "none")


def test_rows_that_mean_no_choice_are_read_and_sorted_alone(open_table: Open) -> None:
    page = open_table(2, choosable="")
    table = page.get_by_role("grid", name="Some fruit. Arrow keys, Page Up and Down, Home and End move.", exact=True)
    expect(page.locator("tr[aria-selected]")).to_have_count(0)
    page.locator("tbody td").first.click()
    table.press("ArrowDown")
    table.press("Enter")
    expect(page.locator(".live")).to_have_text("row 2 of 2, name row 1, left 1")
    named(page, "left").click()
    expect(page.locator("tbody td:first-child")).to_have_text(["row 1", "row 0"])
    expect(page.get_by_text("chosen None")).to_be_visible()


def test_a_dark_phone_scrolls_the_table_and_not_the_page_sideways(browser: Browser, address: str) -> None:
    context = browser.new_context(color_scheme="dark", viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(address)
    expect(column(page, "fruit").first).to_be_visible(timeout=FIRST_DRAWING)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    scroller = page.locator(".scroller")
    assert scroller.evaluate("box => box.scrollWidth > box.clientWidth")
    assert column(page, "fruit").first.evaluate("cell => cell.clientWidth") > 180
    column(page, "<b>note</b>").nth(1).tap()
    expect(page.get_by_text("chosen 1")).to_be_visible()
    assert scroller.evaluate("box => box.scrollLeft") > 0
    context.close()
