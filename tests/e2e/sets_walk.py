"""The manual's walk over a set of prompts, with SmolLM2: its heads, a row, its circuit, and steering by a direction."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from playwright.sync_api import Locator, expect

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver, query_of
from tests.places import DOCS, REAL, ROOT
from tests.serving import headlight

PAIRS = DOCS / "how-to" / "ioi.csv"
MODEL, PROMPT = "smollm2", "When Mary and John went to the store, John gave a book to"
STEERED = "The keys to the cabinet"
MINUTES = 900_000  # milliseconds: what takes a minute on an idle machine takes many on a busy one
EXPERIMENTS, DIRECTIONS = (next(view for view in VIEWS if view.slug == slug) for slug in ("experiments", "directions"))


@dataclass(frozen=True)
class Stop:
    """Where the walk has come to: what is to be read there, and a picture's region, to `room` pixels below `last`."""

    name: str
    text: str
    first: Locator
    last: Locator
    room: int = 0


@contextmanager
def with_real_models(folder: Path) -> Iterator[str]:
    """The address of a server that has the packages of real models; its log is in the folder."""
    path = os.pathsep.join(filter(None, [str(ROOT), str(REAL), os.environ.get("PYTHONPATH")]))
    with headlight(folder, "--threads", "2", PYTHONPATH=path) as url:
        yield url


def sets_walk(app: Driver) -> Iterator[Stop]:
    """Upload twenty pairs, and look at what the manual looks at."""
    page = app.page
    _open(app, EXPERIMENTS, PROMPT)
    page.get_by_role("button", name="Upload a set").click()
    page.locator("input[type=file]").set_input_files(PAIRS)
    finding = page.locator(".st-key-headlight-finding")
    expect(finding).to_contain_text("Over 20 rows", timeout=MINUTES)
    _settle(app)
    rows = page.get_by_role("heading", name="Rows that deviate most")
    yield Stop("heads", finding.inner_text(), page.get_by_role("heading", name="Experiments"), rows)

    address = page.url
    page.get_by_role("button", name="Why", exact=True).click()
    page.wait_for_url(re.compile("page=why"))
    leads = page.get_by_text(re.compile("leads .* by .* logits"))
    expect(leads).to_be_visible(timeout=MINUTES)
    _settle(app)
    below = page.get_by_role("heading", name=re.compile("looks, and why"))
    yield Stop("row", leads.inner_text(), page.get_by_role("heading", name="Why this token?"), below)

    page.goto(address)
    _settle(app)
    app.choose("Measure", "Circuit")
    page.get_by_role("button", name=re.compile("^Score and measure 20 rows")).click()
    expect(finding).to_contain_text("held-out rows", timeout=MINUTES)
    _settle(app)
    parts = page.get_by_role("heading", name="Edges, the largest first")
    text = f"{finding.inner_text()}\n{page.get_by_text(re.compile('^Scored on 10 rows')).inner_text()}"
    yield Stop("circuit", text, page.get_by_role("heading", name="Experiments"), parts)

    _open(app, DIRECTIONS, STEERED)
    apply = page.locator("#option-dir_apply")
    expect(apply).to_be_visible(timeout=MINUTES)
    _settle(app)
    apply.click()
    edited = page.get_by_text(re.compile("^B .*plus 0.5 × plural"))
    expect(edited).to_be_visible(timeout=MINUTES)
    _settle(app)
    expect(page.get_by_role("button", name="“␣have” 8%")).to_be_visible()
    yield Stop("direction", edited.inner_text(), page.get_by_role("heading", name="Directions"), apply, 44)


def _open(app: Driver, view: View, prompt: str) -> None:
    app.page.goto(f"{app.url}/?{query_of(view, model=MODEL, prompt=prompt)}")
    _settle(app)


def _settle(app: Driver) -> None:
    """Wait until all is done, which may take longer than anything else that the tests wait for."""
    begun = monotonic()
    while True:
        try:
            return app.settle()
        except TimeoutError:
            if 1000 * (monotonic() - begun) > MINUTES:
                raise
