"""Every page where one run is made at a time, none may wait, and the cache holds less than one run; or nothing."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.registry import VIEWS
from headlight.app.runs import jobs, limits, patching, runs
from headlight.app.runs.jobs import Jobs
from headlight.app.server import boundary
from headlight.app.server.flags import FIELDS
from tests.places import MAIN

SECONDS = 60  # for one script run on a busy machine
MAX_SLICES = 30  # more than any page needs; one that makes the same things again and again takes no end
PROMPT, OTHER = "one two three " * 9, "one two four " * 9
CACHE = 90_000  # bytes, less than either prompt's run
# *Head roles* needs what 20 sequences and 100 ablations gave at once, *Directions* what a direction was found in.
FOR_SETS = 700_000
QUERIES: dict[str, list[dict[str, str]]] = {
    "patching": [{"patch_estimate": "1"}, {"patch_map": "path_q"}],
    "graph": [{}, {"graph_mode": "circuit"}],
}


pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where variants of a run travel side by side


@pytest.fixture
def works(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> list[Jobs]:
    """What is done in slices; a second place that a thread asks for is refused at once."""
    settings.update(runs_at_once=1, runs_waiting=0, cache_gib=CACHE / limits.GIB)
    # Bytes: a map is in several pieces, none of which pushes out another.
    monkeypatch.setattr(patching, "AT_ONCE", 400_000)
    step, taken = Jobs.step, list[Jobs]()

    def counted(work: Jobs, do: Callable[[Any], object]) -> None:
        taken.append(work)
        assert len(taken) < MAX_SLICES, "the same work is done again and again"
        step(work, do)

    monkeypatch.setattr(Jobs, "step", counted)
    return taken


def _no_boundary(report: Callable[[str], None]) -> AbstractContextManager[None]:
    """Any error, one that a user could mend too, fails the test."""
    return nullcontext()


# These compute while they hold a place, or in slices; `make test-all` has the other pages too.
TELLING, THOROUGH = ("patching", "graph", "mlp"), pytest.mark.thorough
SLUGS = [view.slug if view.slug in TELLING else pytest.param(view.slug, marks=THOROUGH) for view in VIEWS]


@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_asks_for_no_second_place_and_comes_to_an_end(
    slug: str, works: list[Jobs], settings: dict[str, object], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if slug in ("heads", "directions"):
        settings["cache_gib"] = FOR_SETS / limits.GIB
    monkeypatch.setattr(boundary, "guard", _no_boundary)
    if slug == "patching":
        monkeypatch.setattr(jobs, "SLICE_SECONDS", 0.0)  # the page and its runs are made anew after each piece
    for query in QUERIES.get(slug, [{}]):
        page = AppTest.from_file(MAIN, default_timeout=SECONDS)
        for name, value in {"page": slug, "prompt": PROMPT, "prompt_b": OTHER, **query}.items():
            page.query_params[name] = value
        page.run()
        assert not page.exception
        assert not [said for work in works for said in (work.halted, *work.refused.values()) if said]
        assert not any(work.waiting for work in works)
    assert limits.held_bytes(runs.run(folder, PROMPT, True)) > CACHE


LEAST = {name: each.type(low[0]) for name, each in FIELDS.items() if (low := each.metadata["about"].between)}
ANY_RUN = {"run_gib": 1.5, "run_seconds": 120.0}  # what the tests' models take
PAGES = [view.slug if view.slug == "heads" else pytest.param(view.slug, marks=THOROUGH) for view in VIEWS]


@pytest.mark.parametrize("slug", PAGES)
@pytest.mark.parametrize("allowed", [{}, ANY_RUN], ids=["no run", "any run"])
def test_at_the_smallest_limits_a_page_comes_to_a_result_or_a_message(
    slug: str, allowed: dict[str, object], works: list[Jobs], settings: dict[str, object]
) -> None:
    settings.update(LEAST | allowed)
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": slug, "prompt": PROMPT, "prompt_b": OTHER}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert len(works) < MAX_SLICES
    said = "\n".join(text.value for text in page.text)
    assert "Unexpected error" not in said
    if not allowed and slug != "translate":
        assert "Not one token fits" in said
    elif slug == "heads":
        assert "larger --cache-gib" in said
