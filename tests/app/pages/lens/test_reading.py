"""The lens of a long prompt is read in parts: it says how far it is, can be stopped, and goes on where it was."""

from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.frame import progress
from headlight.app.pages.lens import view
from headlight.app.runs import jobs, runs
from headlight.model.lens import logit_lens
from headlight.model.lens import run_lens as explained
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.runs.run import Run
from tests.places import MAIN

SECONDS = 120
PROMPT = "one two one two"


@pytest.fixture
def page(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page of a server on which nothing is quick, before it is opened."""
    settings["model"] = "mini"
    monkeypatch.setattr(progress, "AT_ONCE", -1.0)
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(logit_lens, "ROWS", 1)  # a position at a time
    opened = AppTest.from_file(MAIN, default_timeout=SECONDS)
    opened.query_params["prompt"] = PROMPT
    opened.query_params["page"] = "lens"
    return opened


def test_a_stopped_lens_goes_on_where_it_was(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    read, part = list[int](), explained.logit_lens_from

    def stopped_after_two(made: Run, begin: int, by: Lens = LOGIT) -> logit_lens.LogitLens:
        read.append(begin)
        if len(read) == 2:
            jobs.get_jobs("lens").stop()
        return part(made, begin, by)

    drawn: list[tuple[Any, ...]] = []
    monkeypatch.setattr(explained, "logit_lens_from", stopped_after_two)
    monkeypatch.setattr(view, "_grid", lambda *given: drawn.append(given))
    page.run()
    assert not page.exception
    *_, so_far = drawn[-1]  # the last two positions, which are in sight at first
    assert [(tokens >= 0).all() for tokens in so_far.readings["A"].top_tokens.values.unbind(1)] == [False] * 3 + [
        True
    ] * 2
    drawn.clear()
    (rest,) = [button for button in page.button if button.label.startswith("Compute the rest of the lens (")]
    rest.click().run()
    assert not page.exception
    assert drawn
    made = runs.run("mini", PROMPT, True)
    positions = list(range(len(made.tokens)))
    assert (
        read == positions[::-1] + positions
    )  # in jobs, the last ones first, and once more where they are put together
    whole = logit_lens.logit_lens(*explained._read_with(made, slice(None)), multiply=explained.affine)
    for name, measure in vars(runs.kept((*made.key, "lens"))).items():
        torch.testing.assert_close(measure.values, vars(whole)[name].values)
