"""The page *Generate* in a real browser, on the model that comes with the project."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from headlight.app.figures.text import token_name
from headlight.app.registry import VIEWS
from headlight.model import Transformer, load
from headlight.model.decoding import Sampling, greedy, sample
from tests.e2e.driver import Driver

VIEW = next(view for view in VIEWS if view.slug == "generate")
PROMPT = "The cat sat on the mat. The cat"
OTHER = "The dog ran home. The dog"
N_NEW = 8
COUNT_ASKED = """() => {
  const send = WebSocket.prototype.send;
  window.sent = 0;
  WebSocket.prototype.send = function (data) {
    window.sent++;
    return send.call(this, data);
  };
}"""


@pytest.fixture(scope="module")
def mini() -> Transformer:
    return load("mini")


def opened(app: Driver, **query: str) -> None:
    app.open(VIEW, **{"prompt": PROMPT, "model": "mini", "n_new": str(N_NEW), "stop": "0"} | query)
    expect(steps(app)).to_have_count(int(query.get("n_new", N_NEW)))


def steps(app: Driver) -> Locator:
    """The chips of the written tokens."""
    return app.page.get_by_role("listbox", name="tokens generated").get_by_role("option")


def bars(app: Driver) -> Locator:
    return app.page.get_by_role("listbox", name="The likeliest tokens").get_by_role("option")


def chosen(app: Driver) -> str:
    return app.page.locator(".chip.chosen").filter(visible=True).inner_text()


def drawn(
    model: Transformer, seed: int = 0, written: tuple[int, ...] = (), prompt: str = PROMPT, **sampling: float
) -> list[str]:
    """What the library draws, as labels."""
    assert model.tokenizer
    begun = torch.cat([model.to_tokens(prompt, prepend_bos=True), torch.tensor([written], dtype=torch.long)], 1)
    generator = torch.Generator().manual_seed(seed)
    how = Sampling(**sampling)  # type: ignore[arg-type]
    (continuation,) = sample(model, begun, sampling=how, generator=generator, max_new_tokens=N_NEW - len(written))
    return model.tokenizer.labels([*written, *continuation.tokens.tolist()])


def test_a_newcomer_sees_what_follows_the_first_example(app: Driver) -> None:
    app.open(VIEW)
    expect(steps(app)).not_to_have_count(0)
    expect(bars(app)).to_have_count(15)
    expect(app.page.get_by_text("Step 1 of")).to_be_visible()
    expect(app.panels.first).to_be_visible()
    expect(app.refused).to_have_count(0)


def test_the_page_writes_what_the_library_draws(app: Driver, mini: Transformer) -> None:
    opened(app, seed="3", temperature="0.7", top_k="20")
    assert steps(app).all_inner_texts() == drawn(mini, seed=3, temperature=0.7, top_k=20)


def test_greedy_at_temperature_0_cuts_all_but_the_likeliest(app: Driver, mini: Transformer) -> None:
    opened(app, temperature="0")
    (continuation,) = greedy(mini, mini.to_tokens(PROMPT, prepend_bos=True), max_new_tokens=N_NEW)
    assert mini.tokenizer
    names = [token_name(label, 1) for label in mini.tokenizer.labels(continuation.tokens)]
    assert steps(app).all_inner_texts() == names
    expect(app.page.locator(".row.cut")).to_have_count(14)
    expect(bars(app).first).to_contain_text("→ 100.00%")
    expect(app.page.locator(".row.written .mark")).to_have_text("◆")
    expect(app.page.get_by_role("button", name="Re-roll")).to_be_disabled()


def test_a_step_is_chosen_by_click_button_and_key_and_stands_in_the_link(app: Driver) -> None:
    opened(app)
    texts = steps(app).all_inner_texts()
    steps(app).nth(3).click()
    app.page.wait_for_url(lambda url: "step=3" in url)
    expect(app.page.get_by_text("Step 4 of 8")).to_be_visible()
    expect(app.page.get_by_text(f"where the model generated “{texts[3]}”")).to_be_visible()
    app.page.get_by_role("button", name="the next step").click()
    app.page.wait_for_url(lambda url: "step=4" in url)
    app.page.get_by_role("listbox", name="tokens generated").focus()
    app.page.keyboard.press("End")
    app.page.wait_for_url(lambda url: "step=7" in url)
    app.page.keyboard.press("ArrowLeft")
    app.page.wait_for_url(lambda url: "step=6" in url)
    assert chosen(app) == texts[6]


def test_the_query_that_wrote_the_step_is_pinned(app: Driver, mini: Transformer) -> None:
    opened(app, heads="2.1")
    n_prompt = mini.to_tokens(PROMPT, prepend_bos=True).shape[1]
    pinned = app.page.locator(".chips .chip.pinned")
    expect(pinned).to_have_count(1)
    line = app.page.get_by_role("listbox", name="L2H1").get_by_role("option")
    expect(line.nth(n_prompt - 1)).to_have_attribute("aria-selected", "true")
    steps(app).nth(2).click()
    expect(line.nth(n_prompt + 1)).to_have_attribute("aria-selected", "true")
    expect(pinned).to_have_count(1)


def test_a_re_roll_writes_another_text_and_the_link_brings_it_back(app: Driver, elsewhere: Driver) -> None:
    opened(app)
    first = steps(app).all_inner_texts()
    app.page.get_by_role("button", name="Re-roll").click()
    app.page.wait_for_url(lambda url: "seed=1" in url)
    app.settle()
    second = steps(app).all_inner_texts()
    assert first != second
    elsewhere.page.goto(app.page.url)
    expect(steps(elsewhere)).to_have_text(second)
    assert elsewhere.page.url == app.page.url


def test_a_click_on_a_bar_writes_that_token_and_goes_on(app: Driver, mini: Transformer) -> None:
    opened(app, step="2")
    before = steps(app).all_inner_texts()
    other = app.page.locator(".row:not(.written) .token").nth(1)
    label = other.inner_text()
    other.click()
    app.page.wait_for_url(lambda url: "written=" in url)
    expect(steps(app).nth(2)).to_have_text(label)
    app.settle()
    after = steps(app).all_inner_texts()
    assert after[:2] == before[:2]
    ids = tuple(map(int, app.page.url.split("written=")[1].split("&")[0].split("+")))
    assert after == drawn(mini, written=ids)
    expect(app.page.locator(".chip.inserted")).to_have_count(3)
    app.page.get_by_role("button", name="Start over from the prompt").click()
    expect(app.page.locator(".chip.inserted")).to_have_count(0)
    app.settle()
    assert steps(app).all_inner_texts() == before


def test_a_typed_token_is_written_and_several_are_refused(app: Driver) -> None:
    opened(app)
    box = app.page.get_by_role("textbox", name="Insert a token here")
    box.fill("<img src=x onerror=alert(1)>")
    box.press("Enter")
    expect(app.refused).to_contain_text("not one")
    box.fill(" dog")
    box.press("Enter")
    expect(steps(app).first).to_have_text("␣dog")
    expect(app.refused).to_have_count(0)


def test_values_out_of_range_in_a_link_are_named_and_left_out(app: Driver) -> None:
    opened(app, temperature="-1", top_p="7", top_k="0", seed="-3", written="5 x")
    notice = app.page.get_by_text("Parts of this link were ignored")
    for name in ("temperature", "top_p", "top_k", "seed", "written"):
        expect(notice).to_contain_text(name)
    assert "temperature" not in app.page.url


def test_a_token_that_the_model_lacks_is_refused_plainly(app: Driver) -> None:
    app.open(VIEW, prompt=PROMPT, model="mini", written="999999")
    expect(app.refused).to_contain_text("Token 999999 was to be written, but this model's ids go from 0 to 4095")
    app.page.get_by_role("button", name="Start over from the prompt").click()
    expect(steps(app).first).to_be_visible()
    expect(app.refused).to_have_count(0)


def test_a_second_prompt_is_written_on_beside_the_first(app: Driver, mini: Transformer) -> None:
    """B reads A's tokens; then it writes its own, with the same seed; the link holds which."""
    opened(app, prompt_b=OTHER, heads="2.1", step="2")
    assert steps(app).all_inner_texts() == drawn(mini)
    own = app.page.get_by_role("list", name="tokens generated by B").get_by_role("listitem")
    assert own.all_inner_texts() == drawn(mini, prompt=OTHER)
    expect(app.page.locator(".apart .column")).to_have_count(N_NEW)
    expect(app.page.get_by_text("Teacher forcing")).to_be_visible()
    tokens = mini.to_tokens(OTHER, prepend_bos=True)
    written = torch.tensor([ids_of(mini)])
    before = mini(torch.cat([tokens, written], 1))[0, tokens.shape[1] + 1].softmax(-1)
    label = bars(app).first.locator(".token").inner_text()
    assert mini.tokenizer
    (token,) = [int(each) for each in before.topk(50).indices if mini.tokenizer.labels([int(each)])[0] == label]
    percent = float(bars(app).first.locator(".cell.b .share").inner_text().split("%")[0])
    assert percent == pytest.approx(100 * float(before[token]), rel=0.06)  # two digits
    expect(app.page.locator("div.names")).to_have_text("ABB − A")
    expect(app.page.get_by_role("radiogroup", name="Show").get_by_role("radio", name="B − A")).to_be_checked()
    app.page.get_by_role("radio", name="its own tokens").click()
    app.page.wait_for_url(lambda url: "b_writes=own" in url)
    app.settle()
    assert own.all_inner_texts() == drawn(mini, prompt=OTHER)
    expect(app.page.get_by_text("B generates freely with A's seed")).to_be_visible()
    assert not app.complaints


def ids_of(mini: Transformer) -> list[int]:
    """The ids that A writes."""
    begun, generator = mini.to_tokens(PROMPT, prepend_bos=True), torch.Generator().manual_seed(0)
    (continuation,) = sample(mini, begun, sampling=Sampling(), generator=generator, max_new_tokens=N_NEW)
    return continuation.tokens.tolist()


def test_a_click_or_key_to_a_step_asks_the_server_once_and_not_twice(app: Driver) -> None:
    """The pin that the heads take over from the step was told to the server too, which drew all a second time."""
    opened(app, heads="2.1")
    app.page.evaluate(COUNT_ASKED)
    steps(app).nth(4).click()
    app.page.wait_for_url(lambda url: "step=4" in url)
    app.settle()
    assert app.page.evaluate("window.sent") == 1
    app.page.get_by_role("listbox", name="tokens generated").focus()
    app.page.keyboard.press("ArrowLeft")
    app.page.wait_for_url(lambda url: "step=3" in url)
    app.settle()
    assert app.page.evaluate("window.sent") == 2


def test_tables_stand_for_the_pictures(app: Driver) -> None:
    app.open(VIEW, prompt=PROMPT, model="mini", table="1", step="1")
    expect(app.page.get_by_test_id("stDataFrame")).to_have_count(3)
    expect(app.board).to_have_count(0)


def test_every_file_can_be_had_and_the_page_steps_without_a_server(
    app: Driver, browser: Browser, tmp_path: Path
) -> None:
    opened(app, step="1", heads="2.1")
    texts = steps(app).all_inner_texts()
    files = {ending: Path(file.path()).read_bytes() for ending, file in app.take_away().items()}
    assert PROMPT in files["py"].decode()
    with zipfile.ZipFile(io.BytesIO(files["zip"])) as archive:
        written = list(csv.DictReader(io.StringIO(archive.read("steps.csv").decode("utf-8-sig"))))
        about = json.loads(archive.read("about.json"))
    assert [row["token"].removeprefix("'") for row in written] == texts
    assert about["shows"]["seed"] == 0
    assert b"<svg" in files["svg"]
    assert files["png"].startswith(b"\x89PNG")
    path = tmp_path / "page.html"
    path.write_bytes(files["html"])
    window = browser.new_page()
    window.goto(path.as_uri())
    _step_in_a_file(window, texts)
    window.close()


def _step_in_a_file(page: Page, texts: list[str]) -> None:
    chips = page.get_by_role("listbox", name="tokens generated").get_by_role("option")
    expect(chips).to_have_text(texts)
    chips.nth(5).click()
    expect(page.get_by_text("Step 6 of 8")).to_be_visible()
    expect(page.locator(".chips .chip.pinned")).to_have_text(texts[4])
    row = page.locator(".row:not(.written)").first
    row.click()  # nobody hears it
    expect(page.get_by_text("Step 6 of 8")).to_be_visible()
    expect(chips).to_have_text(texts)


def test_on_a_phone_no_part_is_wider_than_the_screen(browser: Browser, server: str) -> None:
    phone = Driver(browser, server, "dark", 390)
    phone.open(VIEW, prompt=PROMPT, model="mini", n_new="64", stop="0")
    expect(steps(phone)).to_have_count(64)
    expect(bars(phone)).to_have_count(15)
    ends = phone.page.locator(".row, .chip, .facts, .tail").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().right)"
    )
    assert max(ends) <= 390
    assert not phone.complaints
    phone.close()
