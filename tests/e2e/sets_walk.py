"""The manual's walk over a set of prompts, with SmolLM2: its heads, a row, its circuit, and steering by a direction."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Locator, expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver
from tests.places import DOCS

PAIRS = DOCS / "how-to" / "ioi.csv"
MODEL, PROMPT = "smollm2", "When Mary and John went to the store, John gave a book to"
STEERED = "The keys to the cabinet"
MINUTES = 600_000  # milliseconds: what takes one minute on an idle machine may take ten
EXPERIMENTS, DIRECTIONS = (next(view for view in VIEWS if view.slug == slug) for slug in ("experiments", "directions"))


@dataclass(frozen=True)
class Stop:
    """Where the walk has come to: what is to be read there, and the region of a picture, from one to another."""

    name: str
    text: str
    first: Locator
    last: Locator


def sets_walk(app: Driver) -> Iterator[Stop]:
    """Upload twenty pairs, and look at what the manual looks at."""
    page = app.page
    app.open(EXPERIMENTS, model=MODEL, prompt=PROMPT)
    page.get_by_role("button", name="Upload a set").click()
    page.locator("input[type=file]").set_input_files(PAIRS)
    finding = page.locator(".st-key-headlight-finding")
    expect(finding).to_contain_text("Over 20 rows", timeout=MINUTES)
    app.settle()
    rows = page.get_by_role("heading", name="Rows that deviate most")
    yield Stop("heads", finding.inner_text(), page.get_by_role("heading", name="Experiments"), rows)

    address = page.url
    page.get_by_role("button", name="Why", exact=True).click()
    page.wait_for_url(re.compile("page=why"))
    leads = page.get_by_text(re.compile("leads .* by .* logits"))
    expect(leads).to_be_visible(timeout=MINUTES)
    app.settle()
    below = page.get_by_role("heading", name=re.compile("looks, and why"))
    yield Stop("row", leads.inner_text(), page.get_by_role("heading", name="Why this token?"), below)

    page.goto(address)
    app.settle()
    app.choose("Measure", "Circuit")
    page.get_by_role("button", name=re.compile("^Score and measure 20 rows")).click()
    expect(finding).to_contain_text("held-out rows", timeout=MINUTES)
    app.settle()
    parts = page.get_by_role("heading", name="Edges, the largest first")
    text = f"{finding.inner_text()}\n{page.get_by_text(re.compile('^Scored on 10 rows')).inner_text()}"
    yield Stop("circuit", text, page.get_by_role("heading", name="Experiments"), parts)

    app.open(DIRECTIONS, model=MODEL, prompt=STEERED)
    apply = page.locator("#option-dir_apply")
    expect(apply).to_be_visible(timeout=MINUTES)
    app.settle()
    apply.click()
    edited = page.get_by_text(re.compile("^B .*plus 0.5 × plural"))
    expect(edited).to_be_visible(timeout=MINUTES)
    app.settle()
    fed = "\n".join(app.fed.all_inner_texts())
    yield Stop("direction", fed, page.get_by_role("heading", name="Directions"), apply)
