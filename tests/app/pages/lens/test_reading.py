"""The lens of a long prompt is read in parts: it says how far it is, can be stopped, and goes on where it was."""

from itertools import count

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.components import LensGrid
from headlight.app.frame import progress
from headlight.app.pages.lens import view
from headlight.app.runs import jobs, runs
from headlight.model.lens import logit_lens
from headlight.model.lens import run_lens as explained
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.nn.hooks import Tap
from headlight.model.runs.run import Run
from tests.places import MAIN

SECONDS = 120
PROMPT = "one two one two"
N_TOKENS = 5
LAST_TWO = [False] * (N_TOKENS - 2) + [True] * 2


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
    read: list[list[bool]] = []  # which positions are in each grid that is drawn
    parts, part = count(1), explained.logit_lens_from

    def stopped_at_two(made: Run, begin: int, by: Lens = LOGIT) -> logit_lens.LogitLens:
        if next(parts) == 2:
            jobs.get_jobs("lens").stop()
        return part(made, begin, by)

    def noted(grid: LensGrid, **_: object) -> None:
        read.append((grid.a.probabilities > 0).all((0, 2)).tolist())

    monkeypatch.setattr(explained, "logit_lens_from", stopped_at_two)
    monkeypatch.setattr(view, "lens_grid", noted)
    page.run()
    assert not page.exception
    assert read[-1] == LAST_TWO  # those that are in sight at first
    read.clear()
    (rest,) = [button for button in page.button if button.label.startswith("Compute the rest of the lens (")]
    rest.click().run()
    assert not page.exception
    n_read = [sum(positions) for positions in read]
    assert n_read[0] >= 2, "what was read before was read again"
    assert n_read == sorted(n_read)
    assert n_read[-1] == N_TOKENS
    made = runs.run("mini", PROMPT, True)
    final = made.model.ln_final
    whole = logit_lens.logit_lens(
        made.streams(), lambda rows: final(rows[None], Tap())[0], made.model.unembed.W_U, made.model.unembed.b_U
    )
    for name, measure in vars(runs.kept((*made.key, "lens"))).items():
        torch.testing.assert_close(measure.values, vars(whole)[name].values)
