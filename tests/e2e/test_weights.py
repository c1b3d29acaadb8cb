"""*Weights* in a real browser: pairs, directions and composition, by their choices and by a link."""

import re

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from headlight.app.registry import VIEWS
from headlight.model import Transformer, TransformerConfig, load, save_transformer
from headlight.model.measure.head_steps import Norm
from headlight.model.runs.edits import AblateHeads, to_text
from headlight.model.weights import qk_ov_circuits
from headlight.recipes.teaching_weights import HEADS
from tests.e2e.driver import Driver

WEIGHTS = next(view for view in VIEWS if view.slug == "weights")
PROMPT = "The cat sat on the mat."
ABLATED = AblateHeads(((1, 0),), "zero")


@pytest.fixture(scope="module")
def mini() -> Transformer:
    return load("mini")


def _cells(app: Driver, alt: str) -> list[str]:
    """The texts of a table's cells, row by row."""
    cells = _table(app.page, alt).locator("tbody td")
    cells.first.wait_for()
    return cells.all_inner_texts()


def _table(page: Page, alt: str) -> Locator:
    return page.get_by_role("grid", name=re.compile(rf"^{re.escape(alt)}\."))


def _expected(model: Transformer, layer: int, head: int) -> tuple[list[str], float]:
    """The pair of tokens with the highest score, and that score, by the library."""
    attn, gain = model.blocks[layer].get_submodule("attn"), model.get_parameter(f"blocks.{layer}.ln1.w").detach()
    norm = Norm(model.cfg.eps, gain, model.get_parameter(f"blocks.{layer}.ln1.b").detach())
    W_Q, W_K = (attn.get_parameter(name)[head].detach() for name in ("W_Q", "W_K"))
    whole = qk_ov_circuits.qk_circuit(model.embed.W_E.detach(), W_Q, W_K, model.cfg.d_head**0.5, norm)
    product = whole.A @ whole.B
    row, column = divmod(int(product.argmax()), product.shape[1])
    assert model.tokenizer
    return model.tokenizer.labels([row, column]), float(product[row, column])


def test_the_highest_pair_is_that_of_the_whole_matrix_for_each_head(app: Driver, mini: Transformer) -> None:
    app.open(WEIGHTS, prompt=PROMPT, heads="1.0")
    for head in (0, 1):
        if head:
            app.choose("Head", "L1H1")
            app.page.wait_for_url(re.compile(r"heads=1\.1"))
            expect(app.page.get_by_role("heading", name="Weights of L1H1")).to_be_visible()
            app.settle()
        tokens, score = _expected(mini, 1, head)
        first, second, value, *_ = _cells(app, f"Highest pairs of L1H{head}")
        assert [first, second] == tokens
        assert float(value) == pytest.approx(score, rel=1e-3)  # four digits are shown
    assert not app.outside


def test_a_circuit_and_a_token_are_chosen_and_travel_in_the_link(app: Driver) -> None:
    app.open(WEIGHTS, prompt=PROMPT, heads="1.0")
    app.page.get_by_role("radio", name="OV: output").click()
    app.page.wait_for_url(re.compile("circuit=ov"))
    box = app.page.get_by_role("textbox", name="Look up a token")
    box.fill(" the")
    box.press("Enter")
    app.page.wait_for_url(re.compile(r"circuit_token=(\+|%20)the"))
    expect(app.page.get_by_role("heading", name="Of ␣the alone")).to_be_visible()
    app.settle()
    picture = app.picture()
    app.open(WEIGHTS, prompt=PROMPT, heads="1.0", circuit="ov", circuit_token=" the")
    app.becomes(picture)
    assert _cells(app, "Highest pairs of L1H0")


def test_what_is_no_single_token_is_refused_and_the_rest_stays(app: Driver) -> None:
    app.open(WEIGHTS, prompt=PROMPT, heads="1.0", circuit_token="<b>no token</b>")
    expect(app.refused.first).to_contain_text("<b>no token</b>")
    expect(app.page.get_by_role("heading", name="Singular directions")).to_be_visible()


def test_composition_is_a_map_a_head_or_a_table_and_the_first_layer_reads_none(app: Driver) -> None:
    app.open(WEIGHTS, prompt=PROMPT, heads="2.1")
    expect(app.page.get_by_role("application", name=re.compile("^K-composition"))).to_be_visible()
    expect(app.page.get_by_role("application", name=re.compile("2 rows by 4 columns"))).to_have_count(3)
    strongest = app.page.locator(".caption").get_by_role("button", name=re.compile(r"^L[01]H\d$"))
    expect(strongest).to_have_count(3)
    strongest.first.click()
    expect(app.page.get_by_role("menu", name=strongest.first.inner_text())).to_be_visible()
    app.page.keyboard.press("Escape")
    app.page.get_by_text("As tables").click()
    app.page.wait_for_url(re.compile("table=1"))
    app.settle()
    assert _cells(app, "Composition of L2H1 with earlier heads")[0] == "L0H0"
    app.open(WEIGHTS, prompt=PROMPT, heads="0.1")
    expect(app.page.get_by_text("A head of the first layer has no earlier heads.")).to_be_visible()


def test_another_model_is_laid_beside_and_another_prompt_or_edits_change_no_weights(app: Driver) -> None:
    first, second = HEADS
    words = {"prompt": "the quick fox", "prompt_b": "the brown fox"}
    app.open(WEIGHTS, model=first, model_b=second, heads="1.0", circuit="ov", side="a", **words)
    expect(app.page.get_by_role("heading", name="Singular values")).to_be_visible()
    expect(app.page.get_by_role("application", name=re.compile("^K-composition.*, B − A"))).to_be_visible()
    expect(app.page.get_by_role("application", name=re.compile("-composition"))).to_have_count(9)
    app.reveal(app.page.get_by_role("radio", name="B − A", exact=True)).click()
    expect(app.page.get_by_text("This circuit of L1H0 is the same in A and B.")).to_be_visible()  # both copy
    app.settle()
    app.reveal(app.page.get_by_role("radio", name="A", exact=True)).click()
    expect(app.page.get_by_text("Highest in A of 961 (logit)")).to_be_visible()
    app.settle()
    one, other, *values = _cells(app, "Highest pairs of L1H0")[:5]
    assert one == other  # the head copies what it looks at, in either model
    assert [float(value.replace("−", "-")) for value in values] == pytest.approx([20, 20, 0], abs=1e-3)
    app.open(WEIGHTS, model=first, heads="1.0", circuit="ov", **words)
    expect(app.page.get_by_text("Weights do not depend on the prompt")).to_be_visible()
    app.open(WEIGHTS, model=first, prompt=words["prompt"], heads="1.0", edits=to_text(ABLATED))
    expect(app.page.get_by_text("Edits change a run, not the weights")).to_be_visible()


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with a vocabulary whose pairs take so long that the page asks before it searches."""
    folder = tmp_path_factory.mktemp("models") / "wide"
    torch.manual_seed(0)
    sizes = {"n_layers": 1, "d_model": 64, "n_ctx": 32, "n_heads": 1, "d_head": 64, "d_vocab": 100_000}
    model = Transformer(TransformerConfig(**sizes, attn_only=True))
    model.blocks[0].get_parameter("attn.W_Q").data = torch.eye(64)[None]  # no direction is stronger than others
    model.blocks[0].get_parameter("attn.W_K").data = torch.eye(64)[None]
    model.tokenizer = load("mini").tokenizer
    save_transformer(model, folder)
    return str(folder)


def test_a_long_search_waits_for_a_click_says_how_far_it_is_and_can_be_stopped(app: Driver, wide: str) -> None:
    app.open(WEIGHTS, model=wide, prompt=PROMPT, heads="0.0")
    page = app.page
    search = page.get_by_role("button", name=re.compile(r"^Search 10,000,000,000 pairs \(at most about \d\d s\)"))
    search.click()
    expect(page.get_by_text(re.compile(r"^\d+ of 49 parts of 10,000,000,000 pairs searched"))).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()  # Streamlit's own is in the header
    expect(search).to_be_visible()
    app.settle()
    expect(_table(page, "Highest pairs of L0H0")).to_have_count(0)  # it is not sure yet
    expect(app.take_with_you).to_have_count(0)
    expect(page.get_by_role("heading", name="Singular directions")).to_be_visible()
