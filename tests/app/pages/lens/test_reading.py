"""Of a long prompt's lens what is in sight is read first; the rest can be stopped, and goes on where it was."""

from itertools import count

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.components import LensGrid
from headlight.app.frame import progress
from headlight.app.pages.lens import reading, view
from headlight.app.runs import jobs, runs
from headlight.model.lens import logit_lens
from headlight.model.nn.hooks import Tap
from tests.places import MAIN

SECONDS = 120
PROMPT = "one two one two"
N_TOKENS = 5
LAST_TWO = [False] * (N_TOKENS - 2) + [True] * 2


@pytest.fixture
def page(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page of a server on which nothing is quick, before it is opened."""
    settings["model"] = "mini"
    monkeypatch.setattr(progress, "AT_ONCE", 0.0)
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(logit_lens, "ROWS", 1)  # a position at a time
    monkeypatch.setattr(reading, "MAX_SEEN", 2)
    opened = AppTest.from_file(MAIN, default_timeout=SECONDS)
    opened.query_params["prompt"] = PROMPT
    opened.query_params["page"] = "lens"
    return opened


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[LensGrid]:
    """Each grid that is drawn."""
    grids: list[LensGrid] = []
    monkeypatch.setattr(view, "lens_grid", lambda grid, **_: grids.append(grid))
    return grids


def read_in(grid: LensGrid) -> list[bool]:
    """Which positions are read."""
    return (grid.a.probabilities > 0).all((0, 2)).tolist()


def stop_at(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Stop be pressed while this part is read, of which 1 is the first."""
    parts, read = count(1), reading.read

    def stopping(wanted: reading.Part) -> None:
        if next(parts) == part:
            jobs.get_jobs("lens").stop()
        read(wanted)

    monkeypatch.setattr(reading, "read", stopping)


def test_what_is_in_sight_is_read_and_explained_before_the_rest(
    page: AppTest, drawn: list[LensGrid], monkeypatch: pytest.MonkeyPatch
) -> None:
    explained: list[bool] = []  # whether all is read
    draw = view.divergence.draw
    monkeypatch.setattr(view.divergence, "draw", lambda *args: (explained.append(args[-1]), draw(*args)))
    page.run()
    assert not page.exception
    assert read_in(drawn[0]) == LAST_TWO
    assert [sum(read_in(grid)) for grid in drawn] == [2, 3, 4, 5]
    assert explained == [False, False, False, True]


@pytest.mark.parametrize("measure", ["final", "target", "rank"])
def test_every_measure_is_drawn_of_what_is_read(
    measure: str, page: AppTest, drawn: list[LensGrid], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.Jobs, "step", lambda self, do: self.stop())
    page.query_params["measure"] = measure
    page.run()
    assert not page.exception
    partial = drawn[-1].a.measure
    assert (~np.isnan(partial)).all(0).tolist() == LAST_TWO
    monkeypatch.setattr(progress, "AT_ONCE", 1e9)
    page.run()
    whole = drawn[-1].a.measure
    assert not np.isnan(whole).any()
    np.testing.assert_allclose(partial[:, 3:], whole[:, 3:], rtol=1e-6)


def test_a_place_in_the_middle_is_read_with_what_stands_before_it(page: AppTest, drawn: list[LensGrid]) -> None:
    page.query_params["layer"], page.query_params["position"] = "1", "2"
    page.run()
    assert not page.exception
    assert read_in(drawn[0]) == [False, True, True, False, False]


def test_a_stopped_lens_goes_on_where_it_was(
    page: AppTest, drawn: list[LensGrid], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(3, monkeypatch)
    page.run()
    assert not page.exception
    assert sum(read_in(drawn[-1])) == 3
    drawn.clear()
    (rest,) = [button for button in page.button if button.label.startswith("Compute the rest of the lens (")]
    rest.click().run()
    assert not page.exception
    n_read = [sum(read_in(grid)) for grid in drawn]
    assert n_read[0] >= 3, "what was read before was read again"
    assert n_read == sorted(n_read)
    assert n_read[-1] == N_TOKENS
    made = runs.run("mini", PROMPT, True)
    final = made.model.ln_final
    whole = logit_lens.logit_lens(
        made.streams(), lambda rows: final(rows[None], Tap())[0], made.model.unembed.W_U, made.model.unembed.b_U
    )
    for name, measure in vars(runs.kept((*made.key, "lens"))).items():
        torch.testing.assert_close(measure.values, vars(whole)[name].values)
