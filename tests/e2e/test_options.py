"""What can be chosen on the attention page, in a real browser: measures, first token, units, zoom, pins, tables."""

import re

import pytest
import torch
from playwright.sync_api import Browser, expect

from headlight.app.registry import VIEWS
from headlight.model import Transformer, load
from tests.e2e.driver import Driver

PROMPT = "When Mary and John went to the shop, John gave a drink to"
LAYER, HEAD, QUERY, KEY = 1, 2, 5, 2


@pytest.fixture(scope="module")
def cells() -> dict[str, torch.Tensor]:
    """What the library computes for the head, each [query key]."""
    model: Transformer = load("mini")
    _, cache = model.run_with_cache(model.to_tokens(PROMPT, prepend_bos=True))
    weight = cache["pattern", LAYER][0, HEAD]
    norms = (cache["v", LAYER][0, :, HEAD] @ model.get_parameter(f"blocks.{LAYER}.attn.W_O")[HEAD]).norm(dim=-1)
    written = weight * norms
    return {
        "weight": weight,
        "score": cache["attn_scores", LAYER][0, HEAD],
        "write": written,
        "disagreement": weight - written / written.sum(-1, keepdim=True),
        "renormalise": weight / (1 - weight[:, :1]),
    }


def _open(app: Driver, **query: str) -> None:
    app.open(prompt=PROMPT, heads=f"{LAYER}.{HEAD}", **query)


def _told(text: str, name: str) -> float:
    """The number under a name in the tooltip."""
    lines = text.replace("−", "-").split("\n")
    return float(lines[lines.index(name) + 1])


@pytest.mark.parametrize(
    ("label", "show", "name"),
    [
        ("Weight", "weight", "weight"),
        ("Score", "score", "score"),
        ("Value-weighted", "write", "value-weighted norm"),
        ("Disagreement", "disagreement", "weight - written"),
    ],
)
def test_each_measure_is_coloured_and_told(
    app: Driver, cells: dict[str, torch.Tensor], label: str, show: str, name: str
) -> None:
    _open(app, show="score" if show == "weight" else "weight")
    before = app.picture()
    app.page.get_by_test_id("stMain").get_by_role("radio", name=label, exact=True).click()
    app.changed_from(before)
    assert ("show=" in app.page.url) == (show != "weight")
    tooltip = app.point_at(QUERY, KEY, len(cells["weight"]))
    # Four digits are shown, of weights coded to 65,533 steps of their logarithm.
    assert _told(tooltip, name) == pytest.approx(float(cells[show][QUERY, KEY]), rel=2e-3)


def test_rows_without_their_first_token_sum_to_one(app: Driver, cells: dict[str, torch.Tensor]) -> None:
    _open(app)
    before = app.picture()
    app.choose("First token", "hidden, renormalised")
    app.changed_from(before)
    tooltip = app.point_at(QUERY, KEY, len(cells["weight"]))
    expected = float(cells["renormalise"][QUERY, KEY])
    assert _told(tooltip, "without the sinks") == pytest.approx(expected, rel=2e-3)  # as above


def test_tokens_are_grouped_by_word(app: Driver) -> None:
    app.open(prompt="The quick brown fox", heads="0.0")
    assert app.chips.all_inner_texts()[2:6] == ["␣qu", "ick", "␣bro", "wn"]
    app.choose("Tokens grouped by", "words")
    expect(app.chips).to_have_text(["⟨bos⟩", "The", "␣quick", "␣brown", "␣fox"])
    app.choose("First word", "hidden")
    expect(app.page.locator(".bars .legend")).to_contain_text("first word hidden")


def test_several_pinned_tokens_are_summed_and_kept_by_the_link(app: Driver, cells: dict[str, torch.Tensor]) -> None:
    _open(app)
    app.chips.nth(9).click()
    app.chips.nth(10).click(modifiers=["Shift"])
    app.page.wait_for_url(re.compile(r"queries=9\+10"))
    app.chips.nth(1).hover()
    summed = float(cells["weight"][9:11, 1].sum())
    tooltip = app.page.locator(".tooltip:popover-open").inner_text()
    assert _told(tooltip, "sum over 2 tokens") == pytest.approx(summed, rel=2e-3)  # as above


def test_dragging_over_cells_zooms_in_and_a_key_zooms_out(app: Driver) -> None:
    _open(app)
    n_places, marks = app.chips.count(), app.page.locator(".plot .marks").first
    box = marks.bounding_box()
    assert box
    app.page.mouse.move(box["x"], box["y"] - 10)  # not across the grid, which would show a head at the pointer
    before = app.picture()
    for step, place in enumerate((4, 8)):
        at = app.cell(place, place - 3, n_places)
        app.page.mouse.move(box["x"] + at["x"], box["y"] + at["y"], steps=4)
        app.page.mouse.up() if step else app.page.mouse.down()
    app.changed_from(before)
    zoomed = app.page.get_by_role("button", name="zoomed: queries 4–8, keys 1–5")
    expect(zoomed).to_be_visible()
    app.page.keyboard.press("0")
    expect(zoomed).to_have_count(0)
    app.becomes(before)


def test_the_numbers_name_the_heads_most_like_one(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="0.0 2.1")
    app.page.get_by_text("Tables of the chosen heads").click()
    scores = app.page.get_by_role("region", name="Scores of the chosen heads")
    expect(scores.locator("td[aria-colindex='1']")).to_have_text(["L0H0", "L2H1"])
    app.choose("Similar to", "L0H0")
    alike = app.page.get_by_role("region", name="Heads with the patterns")
    expect(alike.locator("td[aria-colindex='1']").first).to_have_text("L0H1")  # mini's other previous-token head
    app.page.get_by_role("button", name="Add the three most similar to L0H0").click()
    expect(app.panels).to_have_count(4)


def test_tables_stand_for_pictures_on_request(app: Driver, cells: dict[str, torch.Tensor]) -> None:
    _open(app, table="1")
    expect(app.board).to_have_count(0)
    rows = app.page.get_by_role("region", name=f"L{LAYER}H{HEAD}").locator("tbody tr")
    values = rows.nth(QUERY).locator("td").all_inner_texts()
    assert float(values[1 + KEY]) == pytest.approx(float(cells["weight"][QUERY, KEY]), abs=5e-4)  # three decimals


# A list's width, that of its longest option in it, and by how much it goes beyond its place in the row.
WIDTHS = """list => {
    const free = list.cloneNode(true);
    free.style.cssText = "position: absolute; width: max-content; min-width: 0; max-width: none";
    list.after(free);
    const needed = free.offsetWidth;
    free.remove();
    const right = (element) => element.getBoundingClientRect().right;
    return [list.offsetWidth, needed, right(list) - right(list.closest(".option"))];
}"""


def test_a_list_is_as_wide_as_its_longest_option_where_its_row_has_room(app: Driver) -> None:
    app.open(next(view for view in VIEWS if view.slug == "features"), prompt=PROMPT)
    layer = app.page.get_by_role("combobox", name="Layer")
    for width, has_room in ((1060, False), (1440, True)):
        app.page.set_viewport_size({"width": width, "height": 900})
        app.settle()
        wide, needed, beyond = layer.evaluate(WIDTHS)
        assert (wide >= needed) == has_room
        assert beyond <= 0


def test_a_list_whose_options_need_less_than_its_width_keeps_it(app: Driver) -> None:
    app.open(next(view for view in VIEWS if view.slug == "inside"), prompt=PROMPT)
    wide, needed, beyond = app.page.get_by_role("combobox", name="Head").evaluate(WIDTHS)
    assert wide > needed
    assert beyond <= 0


def test_options_without_room_beside_the_button_stand_behind_it(browser: Browser, server: str) -> None:
    app = Driver(browser, server, width=1440)  # a new window: the button has no words from before
    app.open(next(view for view in VIEWS if view.slug == "mlp"))
    opener = app.page.locator(".opener", has_text="More options")
    line = opener.locator("xpath=..").locator("> *")
    tops = line.evaluate_all("all => all.map(each => Math.round(each.getBoundingClientRect().top))")
    assert len(tops) > 3
    assert len(set(tops)) == 1
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.settle()
    expect(app.page.locator(".opener", has_text=re.compile("^Options")).first).to_be_visible()
    expect(opener).to_have_count(0)
    app.close()


SENTENCES = "The red cat sat by the river. One cat saw the river on Monday. The river was red. "
# Whether the offer is still seen once the page has put something in its place.
WATCH_OFFER = """() => {
    window.isOfferKept = window.isFolded = false;
    new MutationObserver(() => {
        const places = [...document.querySelectorAll(".stHorizontalBlock.st-key-headlight-fold > *")];
        if (!places.some(place => place.querySelector("[data-testid=stEmpty]"))) return;
        window.isFolded = true;
        if (places.some(place => place.innerText.trim() && place.checkVisibility())) window.isOfferKept = true;
    }).observe(document.body, { childList: true, subtree: true, attributes: true });
}"""


def test_a_long_text_is_read_by_sentences(app: Driver) -> None:
    """The offer goes with the click, and what is lost without a sentence comes to where the page is looked at."""
    app.open(prompt=SENTENCES * 12)
    app.page.set_viewport_size({"width": 1280, "height": 600})
    offer = app.page.get_by_role("button", name="Read it by sentences")
    app.page.evaluate(WATCH_OFFER)
    offer.click()
    app.settle()
    assert app.page.evaluate("[window.isFolded, window.isOfferKept]") == [True, False]
    app.page.locator("[class*=vertical_scores] .chip").nth(3).click()
    app.settle()
    heading = app.page.get_by_role("heading", name="What later sentences lose")
    app.page.wait_for_function("heading => heading.getBoundingClientRect().top < 200", arg=heading.element_handle())
    expect(app.page.get_by_text("Hidden from all later sentences")).to_be_visible()
