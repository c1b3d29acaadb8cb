"""The page of all heads without a browser: what takes long waits for a click, can be stopped, and goes on."""

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.components import Column, HeadGrid
from headlight.app.frame import progress
from headlight.app.pages.heads import view as finder
from headlight.app.parts import charts, detection
from headlight.app.parts.detection import AblationJob, Input
from headlight.app.runs import jobs
from headlight.model import load
from headlight.model.roles.tables import head_tables
from headlight.model.runs.edits import Head
from tests.places import MAIN

SECONDS = 120


@pytest.fixture
def page(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page of a server on which nothing is quick."""
    monkeypatch.setattr(progress, "AT_ONCE", -1.0)
    settings["model"] = "mini"
    opened = AppTest.from_file(MAIN, default_timeout=SECONDS)
    opened.query_params["prompt"] = "one two one two"
    opened.query_params["page"] = "heads"
    opened.run()
    assert not opened.exception
    return opened


def press(page: AppTest, begins: str) -> None:
    next(button for button in page.button if button.label.startswith(begins)).click().run()
    assert not page.exception


def offered(page: AppTest) -> list[str]:
    return [button.label for button in page.button if button.label.startswith(("Measure", "Ablate", "Stop"))]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Column]]:
    """The columns of each table that the page draws from now on."""
    drawn = list[Sequence[Column]]()
    monkeypatch.setattr(finder, "row_table", lambda table, **look: drawn.append(table.columns))
    return drawn


def first_of(table: Sequence[Column], name: str) -> object:
    """The first head's cell under a name that begins so."""
    return next(column.cells[0] for column in table if column.name.startswith(name))


@pytest.fixture
def grids(monkeypatch: pytest.MonkeyPatch) -> list[HeadGrid]:
    """The maps that the page draws from now on, in which nothing is chosen."""
    drawn = list[HeadGrid]()
    monkeypatch.setattr(finder, "head_grid", lambda grid, **look: drawn.append(grid) or ())
    return drawn


def test_what_takes_long_waits_for_a_click(
    page: AppTest, tables: list[Sequence[Column]], grids: list[HeadGrid]
) -> None:
    assert [label.partition(" (")[0] for label in offered(page)] == ["Measure 10 sequences"]
    press(page, "Measure")
    (induction,) = (role for role in grids[-1].roles if role.key == "induction")
    assert (induction.title, induction.heads) == ("↻ induction", [(1, 0), (1, 1)])
    assert [label.partition(" (")[0] for label in offered(page)] == ["Ablate 6 heads"]
    assert (first_of(tables[-1], "label"), first_of(tables[-1], "zeroed")) == ("↻ induction", None)
    press(page, "Ablate")
    assert offered(page) == []
    assert first_of(tables[-1], "label") == "↻ induction"
    mean, low, high = map(float, re.findall(r"[+−]\d+\.\d+", str(first_of(tables[-1], "zeroed"))))
    assert 0 < low < mean < high


def test_stopped_work_keeps_what_is_done_and_can_go_on(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    do, done = detection.do, list[Input | AblationJob]()

    def three(job: Input | AblationJob) -> None:
        do(job)
        done.append(job)
        if len(done) == 3:
            jobs.get_jobs("detection").stop()

    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0)
    monkeypatch.setattr(detection, "do", three)
    press(page, "Measure")
    assert len(done) == 3
    assert "Measure 7 sequences" in [label.partition(" (")[0] for label in offered(page)]
    press(page, "Measure")
    assert len(done) == 10
    assert "Ablate 6 heads" in [label.partition(" (")[0] for label in offered(page)]


def test_the_plot_is_drawn_once_all_sequences_are_measured(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn after each, it took a slow browser so long that the server's ping was not answered in time."""
    maps, plots = list[int](), list[int]()

    def note_left(drawn: list[int]) -> tuple[Head, ...]:
        drawn.append(len(jobs.get_jobs("detection").waiting))
        return ()

    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0)
    monkeypatch.setattr(finder, "head_grid", lambda grid, **look: note_left(maps))
    monkeypatch.setattr(charts, "draw", lambda rows, alt: note_left(plots))
    press(page, "Measure")
    assert maps == [*range(9, -1, -1)]
    assert plots == [0]


def test_the_legends_counts_are_those_of_the_labels_table_and_a_role_lists_its_heads_alone(
    page: AppTest, tables: list[Sequence[Column]], grids: list[HeadGrid]
) -> None:
    """The table is the exported script's, computed from the same sequences without the page."""
    followed = AppTest.from_file(MAIN, default_timeout=SECONDS)
    followed.query_params.update(page.query_params, finder_role="previous_token")
    followed.run()
    press(followed, "Measure")
    model = load("mini")
    labels = head_tables(model, seed=0, count=10, repeat_length=25)["labels"]
    counted = Counter(labels["label"])
    assert {role.title[2:].lower(): len(role.heads) for role in grids[-1].roles} == {
        label.lower(): count for label, count in counted.items()
    }
    assert sum(counted.values()) > 3
    heads = next(column.cells for column in tables[-1] if column.name == "head")
    pairs = zip(labels["head"], labels["label"], strict=True)
    assert sorted(heads) == sorted(head for head, label in pairs if label == "Previous token")
