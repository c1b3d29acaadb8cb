"""Every page on a real model of 30 layers and 9 heads, and that its scripts print the pages' numbers."""

from contextlib import nullcontext
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.exports.export import Export
from headlight.app.frame.prompt_list import Prompt
from headlight.app.pages.heads import export as heads_export
from headlight.app.pages.patching import EXPORT as PATCHING
from headlight.app.pages.prompts import export as prompts_export
from headlight.app.pages.prompts.view import Listed
from headlight.app.pages.weights import EXPORT as WEIGHTS
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons, models
from headlight.app.server import boundary
from headlight.model import Transformer, load
from headlight.model.checkpoints import loading
from tests.app.choosing import selection_of
from tests.app.exports.test_code import compare_tables, computed, run_here
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
    # A short prompt and few of what is many: each of these runs SmolLM2 once for every head, cell or neuron.
    "flow": {"prompt": OTHER},
    "graph": {"prompt": "Hello there", "graph_most": 10, "graph_folded": True},
    "weights": {"heads": ((23, 3),), "circuit": "ov", "circuit_token": " Mary"},
    "patching": {"prompt": OTHER, "prompt_b": OTHER.replace("France", "Italy"), "patch_map": "resid_pre"},
    "scope": {"prompt": "Hello", "target": " Mary", "scope_prompt": "one one", "scope_tokens": 1},
    "heads": {"prompt": OTHER, "finder_data": "prompts"},
    "prompts": {"prompt": OTHER, "statistic_head": (18, 6)},
}
COMPLETE = {"patching": PATCHING, "weights": WEIGHTS}  # which their pages offer once they are computed


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


def export_of(name: str) -> Export:
    """What a page offers; of a list of prompts where it is of that, and of the lens for its patchscope."""
    if name in COMPLETE:
        return COMPLETE[name]
    if name == "heads":
        return heads_export((OTHER,))
    if name == "prompts":
        export = prompts_export(tuple(Listed(Prompt(text, "typed"), True, "") for text in (PROMPT, OTHER)))
    else:
        export = next(view for view in VIEWS if view.slug == {"scope": "lens"}.get(name, name)).export()
    assert export is not None
    return export


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_the_pages_numbers(name: str) -> None:
    selection = selection_of(model="smollm2", **{"prompt": PROMPT} | SCRIPTS[name])
    export, comparison = export_of(name), comparisons.for_selection(selection)
    expected = dict(export.data(comparison, selection).tables)
    script = export.script(comparison, selection)  # of heads that were looked at
    assert "load('smollm2')" in script
    if name == "prompts":
        expected["prompts"] = computed(expected["prompts"])
    compare_tables(run_here(script), expected)
