"""Edits of run A in a real browser: made, measured, linked, switched off and taken away again."""

import re

import pytest
import torch
from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from headlight.app.runs.prompts import examples
from headlight.model import load
from headlight.model.runs.edits import AblateHeads
from headlight.model.runs.edits.editing import run_with_edits
from tests.e2e.driver import Driver

PROMPT = examples()[0].prompt  # a phrase that comes back
INDUCTION = ((1, 0), (1, 1))  # mini's induction heads, as its card has them


def _open_drawer(app: Driver) -> None:
    kind = app.page.get_by_role("combobox", name="Add edit")
    if not kind.count():  # an earlier test may have left it open
        app.page.get_by_text("Edit run A").click()
    expect(kind).to_be_visible()
    app.settle()


def _choose_several(app: Driver, name: str, *options: str) -> None:
    box = app.page.get_by_role("combobox", name=name, exact=True)
    for option in options:
        box.fill(option)
        box.press("Enter")
        app.settle()


def _add(app: Driver) -> None:
    app.page.get_by_role("button", name="Add", exact=True).click()


def _rows(app: Driver) -> Locator:
    return app.page.get_by_role("button", name="Remove")


@pytest.mark.usefixtures("own_session")
def test_without_its_induction_heads_mini_no_longer_repeats(app: Driver) -> None:
    model = load("mini")
    tokens = model.to_tokens(PROMPT, prepend_bos=True)
    with torch.inference_mode():
        edited, _ = run_with_edits(model, tokens, [AblateHeads(INDUCTION, "mean")], "hook_embed", True)
        before, after = (logits[0, -1].log_softmax(-1) for logits in (model(tokens), edited))
    kl = float((before.exp() * (before - after)).sum())
    assert model.to_string([int(before.argmax())]) == " key"

    app.open(prompt=PROMPT, heads="")
    fed, picture = app.fed.inner_text(), app.picture()
    expect(app.fed.get_by_role("button", name="“␣key” 96%")).to_be_visible()
    _open_drawer(app)
    _choose_several(app, "Heads", "L1H0", "L1H1")
    app.choose("Replace with", "mean over this prompt")
    _add(app)
    expect(app.fed).to_have_count(2)
    app.settle()
    assert app.fed.first.inner_text().endswith(fed.removeprefix("A"))
    expect(app.fed.last).to_contain_text("L1H0, L1H1 ablated (mean)")
    expect(app.fed.last.get_by_role("button", name="%").first).to_be_visible()
    expect(app.fed.last.get_by_role("button", name="key")).to_have_count(0)
    expect(app.page.get_by_role("gridcell", name=f"{kl:.3g} nats")).to_be_visible()
    expect(app.page.get_by_role("gridcell", name=re.compile("^“␣key” 96.0% → “"))).to_be_visible()
    app.page.wait_for_url(re.compile("edits=ablate"))
    link = app.page.url

    for slug in ("inside", "residual", "lens"):
        app.go_to(next(view for view in VIEWS if view.slug == slug))
        expect(app.fed).to_have_count(2)
    expect(app.page.get_by_text("B − A", exact=True).first).to_be_visible()

    app.clear()
    app.page.goto(link)
    expect(app.fed).to_have_count(2)
    app.settle()
    assert app.fed.first.inner_text().endswith(fed.removeprefix("A"))
    expect(app.page.get_by_text("B − A", exact=True).first).to_be_visible()
    _open_drawer(app)
    _rows(app).click()
    expect(app.fed).to_have_count(1)
    expect(_rows(app)).to_have_count(0)
    app.page.wait_for_url(re.compile(r"^(?!.*edits)"))
    app.page.get_by_text("Edit run A").click()
    app.settle()
    assert app.fed.inner_text() == fed
    app.becomes(picture)


def test_an_edit_is_switched_off_and_on(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="1.0", edits="ablate:1.0,1.1:zero:")
    expect(app.fed).to_have_count(2)
    _open_drawer(app)
    app.page.locator(".st-key-headlight-edits").get_by_role("switch").click()
    expect(app.fed).to_have_count(1)
    app.page.wait_for_url(re.compile("edits_off=0"))
    app.settle()
    app.page.go_back()
    expect(app.fed).to_have_count(2)
    app.page.go_forward()  # at once, so that it stops the run of Back
    expect(app.fed).to_have_count(1)
    app.settle()
    assert "edits_off=0" in app.page.url
    app.page.locator(".st-key-headlight-edits").get_by_role("switch").click()
    expect(app.fed).to_have_count(2)
    app.page.wait_for_url(re.compile(r"^(?!.*edits_off)"))
    app.settle()
    app.page.go_back()
    expect(app.fed).to_have_count(1)
    app.settle()
    assert "edits_off=0" in app.page.url
    switch = app.page.locator(".st-key-headlight-edits").get_by_role("switch")
    expect(switch).not_to_be_checked()


def test_an_edge_is_cut_and_its_weight_is_gone(app: Driver) -> None:
    app.open(prompt=PROMPT, heads="1.0")
    n_places = app.chips.count()
    _open_drawer(app)
    app.choose("Add edit", "Ablate an attention edge")
    expect(app.page.get_by_role("combobox", name="From query")).to_be_visible()
    _add(app)
    expect(app.fed).to_have_count(2)
    expect(app.fed.last).to_contain_text(f"L1H0: edge from {n_places - 1} to 0 cut")
    app.settle()
    tooltip = app.point_at(query=n_places - 1, key=0, panel=1, n_places=n_places).split("\n")
    assert tooltip[tooltip.index("weight") + 1] == "< 1e−38"  # what float32 tells from zero


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ("ablate:7.0:zero:", "There is no head L7H0: this model has layers 0 to 3 of heads 0 to 3"),
        ("patch:blocks.0.attn.hook_pattern:too+short::", "tokens and the edited one"),
        ("patch:blocks.0.hook_nothing:x::", "This model has no activation"),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused_in_words(app: Driver, edits: str, said: str) -> None:
    app.open(prompt=PROMPT, edits=edits)
    expect(app.refused.first).to_contain_text("B: Edit 1")
    expect(app.refused.first).to_contain_text(said)


def test_a_link_with_hostile_edits_opens_without_them(app: Driver) -> None:
    app.open(prompt=PROMPT, edits="<script>alert(1)</script>")
    expect(app.page.get_by_text("ignored: edits")).to_be_visible()
    expect(app.fed).to_have_count(1)


def test_beside_a_prompt_b_the_effect_on_both_prompts_is_said(app: Driver) -> None:
    app.open(prompt=PROMPT, prompt_b="The quick brown fox", edits="drop:0:MLP")
    expect(app.fed.last).not_to_contain_text("dropped")
    _open_drawer(app)
    expect(app.page.get_by_text("Here each of them is edited by itself")).to_be_visible()
    app.choose("Add edit", "Drop a layer or sublayer")
    _add(app)
    for side in "AB":
        expect(app.page.get_by_role("button", name=side, exact=True)).to_be_visible()
    expect(app.page.get_by_role("textbox", name="Prompt B")).to_be_visible()
