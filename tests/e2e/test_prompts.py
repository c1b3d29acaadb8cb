"""Odd and long prompts as the embedded model's tokenizer parts them."""

import pytest
from playwright.sync_api import expect

from headlight.model import load
from tests.e2e.driver import Driver

ODD = {
    "emoji": ("a 🙂 b", "<0xF0>"),
    "right to left": ("שלום עולם", "<0xD7>"),
    "direction override": ("abc \u202e def", "<0x80>"),
    "line breaks": ("one\n\n\ttwo", "↵"),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_characters_are_shown_by_name(app: Driver, kind: str) -> None:
    prompt, label = ODD[kind]
    app.open(prompt=prompt)
    expect(app.prompt).to_have_value(prompt)
    expect(app.chips.filter(has_text=label).first).to_be_visible()


def test_the_context_is_filled_to_the_last_token_and_not_beyond(app: Driver) -> None:
    n_ctx = load("mini").cfg.n_ctx
    app.open(prompt=" the" * (n_ctx - 1))  # the beginning-of-sequence token is the last that fits
    expect(app.fed).to_contain_text(f"{n_ctx:,} input tokens")
    app.run(" the" * n_ctx)
    expect(app.refused).to_contain_text(f"{n_ctx + 1:,} tokens")
    expect(app.refused).to_contain_text(f"holds {n_ctx:,}")
    expect(app.chips).to_have_count(n_ctx)
