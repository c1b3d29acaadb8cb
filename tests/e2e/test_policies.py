"""Every page works under the policies that the server gives to browsers: they refuse nothing that a page needs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from headlight.app.frame.view import PROMPTED
from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver

PROMPTS = {"prompt": "one two one two", "prompt_b": "one two two one"}
NOTE = """globalThis.refused = [];
addEventListener("securitypolicyviolation", each => refused.push(`${each.violatedDirective} ${each.blockedURI}`));"""
ELSEWHERE = "http://127.0.0.1:9"  # nobody listens there
TRY = """async (elsewhere) => {
    document.body.append(Object.assign(new Image(), { src: `${elsewhere}/p.png` }));
    document.body.append(Object.assign(document.createElement("iframe"), { src: elsewhere }));
    document.body.append(Object.assign(document.createElement("script"), { textContent: "globalThis.ran = true" }));
    await fetch(elsewhere).catch(() => undefined);
    return globalThis.ran === undefined;
}"""


@pytest.fixture
def watched(browser: Browser, server: str) -> Iterator[Driver]:
    driver = Driver(browser, server)
    driver.page.context.add_init_script(NOTE)
    yield driver
    driver.close()


def test_pages_need_nothing_that_the_policies_refuse_and_these_refuse_what_is_elsewhere(watched: Driver) -> None:
    for view in VIEWS:
        watched.open(view, **(PROMPTS if view.kind is PROMPTED else {}))
        assert watched.page.evaluate("refused") == [], view.slug
    assert not watched.outside
    assert not watched.complaints
    assert watched.page.evaluate(TRY, ELSEWHERE)
    watched.page.wait_for_function("refused.length >= 4")
    refused = watched.page.evaluate("refused")
    assert {each.split()[0].removesuffix("-elem") for each in refused} == {
        "img-src",
        "frame-src",
        "script-src",
        "connect-src",
    }
