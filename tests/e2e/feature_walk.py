"""The tutorial's walk below the head: from a prediction to the feature that carries it, the head that moved it, the
edit that removes it, in six clicks.
"""

import re
from collections.abc import Iterator

from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver
from tests.e2e.walk import PROMPT


def walk(app: Driver) -> Iterator[str]:
    """Click, wait until all is drawn, and tell what was clicked, six times."""
    app.open(VIEWS[0], prompt=PROMPT)
    page = app.page
    page.get_by_role("button", name="Why?").click()
    carriers = page.get_by_role("button", name="Features behind this prediction")
    expect(carriers).to_be_visible()
    app.settle()
    yield "Why?"
    carriers.click()
    page.wait_for_url(re.compile("page=features"))
    head = page.get_by_role("button", name="Why L1H0")
    expect(head).to_be_visible()
    app.settle()
    yield "Features behind this prediction"
    head.click()
    page.wait_for_url(re.compile("page=why"))
    switch = page.get_by_role("radio", name="features", exact=True)
    expect(switch).to_be_visible()
    app.settle()
    yield "Why L1H0"
    switch.click()
    moved = page.get_by_role("button", name=re.compile("^moved feature")).first
    expect(moved).to_be_visible()
    app.settle()
    yield "By features"
    moved.click()
    page.wait_for_url(re.compile("page=features"))
    ablate = page.get_by_role("button", name="Ablate", exact=True)
    expect(ablate).to_be_visible()
    app.settle()
    yield "moved feature"
    ablate.click()
    page.wait_for_url(re.compile("edits=feature"))
    app.settle()
    yield "Ablate"
