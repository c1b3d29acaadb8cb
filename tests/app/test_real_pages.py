"""Every page on a real model of 30 layers and 9 heads, and that its scripts print the pages' numbers."""

from contextlib import nullcontext
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons, models
from headlight.app.server import boundary
from headlight.model import Transformer, load
from headlight.model.checkpoints import loading
from tests.app.choosing import selection_of
from tests.app.exports.test_code import compare_tables, run_here
from tests.places import MAIN

pytestmark = [pytest.mark.thorough, pytest.mark.real, pytest.mark.usefixtures("unchecked")]  # 270 heads take their time

SECONDS = 300  # for one script run on a busy machine
PROMPT, OTHER = "When Mary and John went to the store, John gave a drink to", "The capital of France is"
MORE: dict[str, dict[str, str]] = {
    "patching": {"prompt_b": PROMPT.replace(", John", ", Mary")},
    "graph": {"prompt": OTHER},
}
SLUGS = [view.slug for view in VIEWS if view.slug != "translate"]  # which is of encoder-decoders
SCRIPTS: dict[str, dict[str, Any]] = {
    "attention": {"heads": ((18, 6), (16, 0))},
    "inside": {"heads": ((23, 3),)},
    "residual": {},
    "lens": {"target": " Mary", "scope_tokens": 0},
    "why": {"target": " Mary", "distractor": " John", "heads": ((23, 3),)},
    "mlp": {},
    "generate": {"n_new": 4, "bos": "chat"},
}


@pytest.fixture(scope="module")
def smollm2(real: object) -> Transformer:
    """SmolLM2, opened once for all pages."""
    return load("smollm2")


@pytest.fixture
def opened(smollm2: Transformer, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server, and scripts, that open nothing else."""
    settings["model"] = "smollm2"
    monkeypatch.setattr(models, "load", lambda source, **how: smollm2)
    monkeypatch.setattr(loading, "load", lambda source, *revision: smollm2)


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_opens(slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary, "guard", nullcontext)  # an error fails the test, and is not said on the page
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": slug, "prompt": PROMPT, **MORE.get(slug, {})}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert not page.error
    assert any("smollm2 · " in text.value for text in page.text)


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("slug", SCRIPTS)
def test_a_script_prints_the_pages_numbers(slug: str) -> None:
    selection = selection_of(model="smollm2", prompt=PROMPT, **SCRIPTS[slug])
    export = next(view for view in VIEWS if view.slug == slug).export()
    comparison = comparisons.for_selection(selection)
    script = export.script(comparison, selection)
    assert "load('smollm2')" in script
    compare_tables(run_here(script), dict(export.data(comparison, selection).tables))
