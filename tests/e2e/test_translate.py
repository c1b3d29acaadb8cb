"""The page of encoder-decoders in a real browser, on the models that come with it."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from headlight.app.registry import VIEWS
from headlight.model import Seq2SeqTransformer, load_seq2seq
from tests.e2e.driver import Driver

VIEW = next(view for view in VIEWS if view.slug == "translate")
SYLLABLES = "ba ko li su fe mo ri ta ne ju"
MIRRORED = " ".join(reversed(SYLLABLES.split()))
NAME = "decoder.blocks.1.cross_attn.hook_pattern"


@pytest.fixture(scope="module")
def reverse() -> Seq2SeqTransformer:
    return load_seq2seq("reverse")


def opened(app: Driver, **query: str) -> None:
    app.open(VIEW, **{"translator": "reverse", "source": SYLLABLES} | query)


def source_box(app: Driver) -> Locator:
    return app.page.get_by_role("textbox", name="Source")


def run(app: Driver, source: str) -> None:
    source_box(app).fill(source)
    app.run_button.click()


def strip(app: Driver) -> list[str]:
    """The chips' texts of both lines."""
    return app.chips.all_inner_texts()


def test_a_newcomer_sees_a_translation_by_itself(app: Driver) -> None:
    app.open(VIEW)
    expect(app.page.get_by_text("What to look at.")).to_be_visible()
    expect(source_box(app)).not_to_have_value("")
    expect(app.fed).to_contain_text("source tokens read")
    expect(app.panels.first).to_be_visible()
    expect(app.refused).to_have_count(0)
    assert not app.complaints
    assert not app.outside


def test_reverse_writes_the_source_backwards_and_both_lines_show_it(app: Driver) -> None:
    opened(app)
    expect(app.page.get_by_text(MIRRORED, exact=True)).to_be_visible()
    assert strip(app) == [*SYLLABLES.split(), "⟨eos⟩", *MIRRORED.split(), "⟨eos⟩"]
    app.reveal(app.page.get_by_role("radio", name="token it reads")).click()
    expect(app.chips.nth(11)).to_have_text("⟨bos⟩")
    assert strip(app) == [*SYLLABLES.split(), "⟨eos⟩", "⟨bos⟩", *MIRRORED.split()]


def test_a_cell_shows_the_weight_that_the_model_computes(app: Driver, reverse: Seq2SeqTransformer) -> None:
    opened(app, pair_heads="1.2")
    source, target = reverse.to_source_tokens(SYLLABLES), reverse.to_target_tokens(MIRRORED)
    _, cache = reverse.run_with_cache(source, target, NAME)
    weights = cache[NAME][0, 2]
    tooltip = point_at_crossed(app, 3, int(weights[3].argmax()), weights.shape[1])
    expect(tooltip).to_contain_text(MIRRORED.split()[3])
    expect(tooltip).to_contain_text(f"{float(weights[3].max()):.3g}"[:4])


def point_at_crossed(app: Driver, row: int, column: int, n_columns: int) -> Locator:
    """Move the pointer to a cell of a rectangular heatmap."""
    marks = app.page.locator(".plot .marks").first
    read = "caption => ['marginLeft', 'marginRight'].map((side) => parseFloat(getComputedStyle(caption)[side]))"
    left, right = app.panels.first.locator("figcaption").evaluate(read)
    box = marks.bounding_box()
    assert box
    size = (box["width"] - left - right) / n_columns
    marks.hover(position={"x": left + (column + 0.5) * size, "y": 6 + (row + 0.5) * size})
    return app.page.locator(".tooltip:popover-open")


def test_a_pinned_cell_and_a_chosen_head_are_in_the_link(app: Driver, elsewhere: Driver) -> None:
    opened(app, attends="decoder", pair_heads="0.1 1.3", pair_queries="4", pair_keys="2")
    link = app.page.url
    for part in ("attends=decoder", "pair_heads=0.1+1.3", "pair_queries=4", "pair_keys=2"):
        assert part in link
    elsewhere.page.goto(link)
    elsewhere.becomes(app.picture())
    assert elsewhere.page.url == link


def test_what_came_with_a_link_is_there_once_the_sources_that_it_left_out_are_pasted(app: Driver) -> None:
    other = "ba li ko su fe mo ri ta ne"
    opened(app, source_b=other, pair_heads="1.2", pair_queries="4", pair_keys="2")
    link, picture = app.page.url, app.picture()
    pins = "pair_heads=1.2&pair_queries=4&pair_keys=2"
    app.page.goto(f"{app.url}/?page=translate&translator=reverse&{pins}&left_out=source+source_b")
    expect(app.page.get_by_text("This link does not contain the source and source B.")).to_be_visible()
    expect(app.refused).to_have_count(0)
    app.page.get_by_role("textbox", name="Source A").fill(SYLLABLES)
    app.page.get_by_role("textbox", name="Source B").fill(other)
    app.run_button.click()
    app.becomes(picture)
    app.page.wait_for_url(link)


@pytest.mark.parametrize("attends", ["cross", "decoder", "encoder"])
def test_each_kind_of_attention_has_its_own_axes(app: Driver, attends: str) -> None:
    opened(app, attends=attends)
    expected = {
        "cross": [*SYLLABLES.split(), "⟨eos⟩", *MIRRORED.split(), "⟨eos⟩"],
        "decoder": ["⟨bos⟩", *MIRRORED.split()],
        "encoder": [*SYLLABLES.split(), "⟨eos⟩"],
    }[attends]
    assert strip(app) == expected
    expect(app.panels.first).to_be_visible()
    assert not app.complaints


def test_a_click_in_the_tree_shows_that_branch(app: Driver) -> None:
    opened(app, beams="3")
    tree = app.page.get_by_role("tree")
    expect(tree).to_be_visible()
    tree.get_by_role("treeitem", name=re.compile("dropped")).first.click()
    app.page.wait_for_url(lambda url: "branch=" in url)
    app.settle()
    assert strip(app)[11:] != [*MIRRORED.split(), "⟨eos⟩"]
    expect(app.page.get_by_text(MIRRORED, exact=True)).to_have_count(0)


def test_a_target_of_ones_own_takes_the_trees_place_until_it_is_gone_back_from(app: Driver) -> None:
    opened(app)
    app.page.get_by_text("Provide a target (teacher forcing)").click()
    app.page.get_by_role("textbox", name="Target").fill("ju ba")
    app.run_button.click()
    expect(app.page.get_by_text("Provided target")).to_be_visible()
    app.settle()
    assert strip(app)[11:] == ["ju", "ba", "⟨eos⟩"]
    expect(app.page.get_by_text("Beam search", exact=True)).to_have_count(0)
    app.page.go_back()
    app.settle()
    run(app, "ba ko")
    app.page.wait_for_url(lambda url: "source=ba+ko&" in url)
    app.settle()
    expect(app.page.get_by_text("Provided target")).to_have_count(0)
    assert "translation=" not in app.page.url


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "source is empty"),
        ("   ", "source is 3 spaces"),
        ("ba <img src=x onerror=alert(1)>", "does not know '<img', 'src=x', 'onerror=alert(1)>'"),
        ("ba " * 40, "source has 41 tokens; this model's context holds 18"),
        ("ba шалом 👨‍👩‍👧", "does not know"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_and_the_result_before_stays(
    app: Driver, source: str, said: str
) -> None:
    opened(app)
    before = strip(app)
    run(app, source)
    expect(app.refused).to_contain_text(said)
    app.settle()
    assert strip(app) == before
    shorter = SYLLABLES.split()[:8]
    run(app, " ".join(shorter))
    expect(app.refused).to_have_count(0)
    app.settle()
    assert strip(app) == [*shorter, "⟨eos⟩", *reversed(shorter), "⟨eos⟩"]


def test_a_model_of_the_other_kind_is_named(app: Driver) -> None:
    app.open(VIEW, translator="mini", source="ba")
    expect(app.refused).to_contain_text("mini")
    app.open(prompt="The cat", model="reverse")
    expect(app.refused).to_contain_text("encoder-decoder")


def test_going_to_another_page_and_back_keeps_both(app: Driver) -> None:
    opened(app, attends="encoder")
    app.go_to(VIEWS[0])
    expect(app.prompt).not_to_have_value("")
    expect(app.board).to_be_visible()
    app.go_to(VIEW)
    expect(source_box(app)).to_have_value(SYLLABLES)
    assert strip(app) == [*SYLLABLES.split(), "⟨eos⟩"]


def test_tables_stand_for_the_pictures(app: Driver) -> None:
    opened(app, table="1")
    expect(app.board).to_have_count(0)
    expect(app.page.get_by_test_id("stDataFrame")).to_have_count(4)


def test_every_file_can_be_had(app: Driver, browser: Browser, tmp_path: Path) -> None:
    opened(app, beams="2")
    files = {ending: Path(file.path()).read_bytes() for ending, file in app.take_away().items()}
    assert SYLLABLES in files["py"].decode()
    with zipfile.ZipFile(io.BytesIO(files["zip"])) as archive:
        assert set(archive.namelist()) >= {"about.json", "arrays.npz", "source.csv", "target.csv", "beams.csv"}
        target = list(csv.DictReader(io.StringIO(archive.read("target.csv").decode("utf-8-sig"))))
        about = json.loads(archive.read("about.json"))
    assert [row["token written"] for row in target] == [*MIRRORED.split(), "</s>"]
    assert about["runs"]["A"]["target"] == MIRRORED
    assert b"<svg" in files["svg"]
    assert files["png"].startswith(b"\x89PNG")
    path = tmp_path / "page.html"
    path.write_bytes(files["html"])
    page = browser.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".chip")).to_have_count(22)
    expect(page.locator(".board")).to_be_visible()
    page.close()


def test_a_second_source_stands_beside_the_first_and_the_link_holds_it(app: Driver, elsewhere: Driver) -> None:
    opened(app, beams="1", pair_heads="1.2")
    app.page.get_by_role("button", name="Compare A | B").click()
    app.settle()
    other = "ba li ko su fe mo ri ta ne"
    app.page.get_by_role("textbox", name="Source B").fill(other)
    app.run_button.click()
    app.page.wait_for_url(lambda url: "source_b=" in url)
    app.settle()
    expect(app.page.get_by_text(" ".join(reversed(other.split())), exact=True)).to_be_visible()
    expect(app.page.get_by_text(MIRRORED, exact=True)).to_be_visible()
    expect(app.panels).to_have_count(3)  # A, B and B − A
    assert "−ju" in strip(app)  # that only A reads and writes
    assert "+ju" not in strip(app)
    expect(app.page.get_by_role("tree")).to_have_count(2)
    elsewhere.page.goto(app.page.url)
    elsewhere.becomes(app.picture())
    app.page.get_by_role("button", name="Swap A and B").click()
    expect(source_box(app).first).to_have_value(other)
    app.settle()
    assert "+ju" in strip(app)
    app.page.get_by_role("button", name="Close B").click()
    expect(app.panels).to_have_count(1)
    app.settle()
    assert "source_b" not in app.page.url
    assert not app.complaints


def test_a_refusal_names_words_that_are_known_and_where_all_are_listed(app: Driver) -> None:
    opened(app)
    run(app, "ba bba")
    expect(app.refused).to_contain_text("that it knows, the nearest are: ")
    app.settle()
    app.page.get_by_role("button", name="About this model").click()
    listed = app.page.get_by_test_id("stPopoverBody")
    for word in ("words of the source", "words of the target", *SYLLABLES.split()):
        expect(listed).to_contain_text(word)


def test_two_given_targets_are_judged_on_one_source(app: Driver) -> None:
    opened(app, source_b=SYLLABLES, translation=MIRRORED, translation_b="ju ne ba")
    expect(app.page.get_by_text("B: provided target")).to_be_visible()
    change = app.page.get_by_text("Total log-probability of B's target − A's")
    expect(change).to_contain_text("−")
    opened(app, source="<s> ba", translator="reverse")
    expect(app.refused).to_contain_text("does not know '<s>'")
