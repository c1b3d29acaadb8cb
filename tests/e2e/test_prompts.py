"""Prompts that are hostile, odd or impossible: plain words, nothing lost, nothing leaves the machine."""

import re

import pytest
from playwright.sync_api import expect

from app.registry import VIEWS
from model import load
from tests.e2e.driver import Driver

HOSTILE = {
    "html": "<b>bold</b> <img src=x onerror=alert(1)>",
    "link": "![i](https://e.example/p.png) [a](https://e.example)",
    "mathematics": "$x^2$ and :smile: **bold**",
    "end of text": "a <|endoftext|> b",
}
ODD = {
    "emoji": ("a 🙂 b", "<0xF0>"),
    "right to left": ("שלום עולם", "<0xD7>"),
    "direction override": ("abc \u202e def", "<0x80>"),
    "line breaks": ("one\n\n\ttwo", "↵"),
}
MADE_OF_TEXT = "b, img[src=x], a[href*='e.example'], .katex"


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_shown_as_typed_on_every_page(app: Driver, kind: str) -> None:
    app.open(prompt=HOSTILE[kind])
    expect(app.prompt).to_have_value(HOSTILE[kind])
    assert "".join(app.chips.all_inner_texts()[1:]).replace("␣", " ") == HOSTILE[kind]
    for view in VIEWS:
        app.go_to(view)
        expect(app.refused).to_have_count(0)
        assert app.page.get_by_test_id("stMain").locator(MADE_OF_TEXT).count() == 0


@pytest.mark.parametrize("kind", ODD)
def test_odd_characters_are_shown_by_name(app: Driver, kind: str) -> None:
    prompt, label = ODD[kind]
    app.open(prompt=prompt)
    expect(app.prompt).to_have_value(prompt)
    expect(app.chips.filter(has_text=label).first).to_be_visible()


def test_what_cannot_be_run_is_said_and_the_result_before_stays(app: Driver) -> None:
    app.open(prompt="The keys to the cabinet")
    before = app.shown()
    for prompt, said in [
        ("", "The prompt is empty."),
        ("   \n ", "spaces or line breaks and nothing else"),
        ("word " * 3000, r"tokens.*context holds"),
        ("a" * 1_000_000, "1,000,000 characters"),
    ]:
        app.run(prompt)
        expect(app.refused).to_contain_text(re.compile(said))
        app.settle()
        assert app.shown() == before
    app.run("The cat")
    expect(app.refused).to_have_count(0)
    expect(app.chips).to_have_count(3)  # with the beginning-of-sequence token


def test_the_context_is_filled_to_the_last_token_and_not_beyond(app: Driver) -> None:
    n_ctx = load("mini").cfg.n_ctx
    app.open(prompt=" the" * (n_ctx - 1))  # the beginning-of-sequence token is the last that fits
    expect(app.fed).to_contain_text(f"{n_ctx:,} tokens fed")
    app.run(" the" * n_ctx)
    expect(app.refused).to_contain_text(f"{n_ctx + 1:,} tokens")
    expect(app.refused).to_contain_text(f"holds {n_ctx:,}")
    expect(app.chips).to_have_count(n_ctx)
