"""Long work shows how far it is, and is stopped by a press; what was asked for can be asked for again."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from headlight.app import selection
from headlight.app.frame import progress
from headlight.app.frame.lessons import pane
from headlight.app.runs import gate, passes, patching, runs
from headlight.app.runs.passes import Listener
from tests.app.frame.lessons.test_pane import Pane
from tests.places import MAIN

SECONDS = 120


def _page(slug: str = "") -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    page.query_params |= {"prompt": "one two one two", "heads": "2.1"}
    if slug:
        page.query_params["page"] = slug
    return page


@pytest.fixture
def ending(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of steps after the first of which the script's run ends, as a press in the browser ends it."""
    settings["model"] = "mini"
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    of_steps, heard_by, ending, begun = progress.of_steps, passes.heard_by, set[str](), [""]

    def noted(
        said: str, stop: Callable[[], None], steps: str = "layers done", key: str = "pass", resumes: bool = False
    ) -> AbstractContextManager[None]:
        begun.append(key)
        return of_steps(said, stop, steps, key, resumes)

    def until_pressed(hear: Listener, check: Callable[[], None] | None = None) -> AbstractContextManager[None]:
        def hear_and_end(done: int, total: int, note: str) -> None:
            hear(done, total, note)
            if begun[-1] in ending and done:
                raise StopException

        return heard_by(hear_and_end, check)

    monkeypatch.setattr(progress, "of_steps", noted)
    monkeypatch.setattr(passes, "heard_by", until_pressed)
    return ending


def _button(page: AppTest, label: str) -> Button:
    [match] = [button for button in page.button if button.label == label]
    return match


def test_a_pass_is_stopped_and_run_again(ending: set[str]) -> None:
    ending.add("pass")
    page = _page().run()
    ending.clear()
    _button(page, "Stop").click().run()
    assert not page.exception
    assert any(text.value.startswith("Stopped.") for text in page.text)
    _button(page, "Run").click().run()
    assert not page.exception
    assert not any(text.value.startswith("Stopped.") for text in page.text)
    assert not [button for button in page.button if button.label == "Stop"]


def test_a_session_that_waits_for_another_can_be_stopped(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.update(model="mini", runs_at_once=1, runs_waiting=1)
    monkeypatch.setattr(gate, "TICK", 0.01)
    heard_by = passes.heard_by

    def until_pressed(hear: Listener, check: Callable[[], None] | None = None) -> AbstractContextManager[None]:
        def hear_and_end(done: int, total: int, note: str) -> None:
            hear(done, total, note)
            if " in line" in note:
                raise StopException

        return heard_by(hear_and_end, check)

    monkeypatch.setattr(passes, "heard_by", until_pressed)
    with runs.turn():  # another session's
        page = _page().run()
    assert not page.exception
    _button(page, "Stop").click().run()
    assert not page.exception
    assert any(text.value.startswith("Stopped.") for text in page.text)


@pytest.mark.parametrize(
    ("slug", "key", "said"),
    [
        ("why", "measured", "running the model without it"),
        ("weights", "directions", "decomposing the circuit"),
        ("weights", "compositions", "multiplying circuits"),
    ],
)
@pytest.mark.usefixtures("unchecked")  # a batch grows on the way where interventions run side by side
def test_a_computation_is_stopped_and_begun_again(ending: set[str], slug: str, key: str, said: str) -> None:
    """The rest of the page is there without it."""
    ending.add(key)
    page = _page(slug).run()
    ending.clear()
    page.button(key=selection.widget_key(f"stop_{key}")).click().run()  # a search of pairs may have one of its own
    assert not page.exception
    _button(page, f"Start {said} again").click().run()
    assert not page.exception
    assert not [button for button in page.button if button.label in ("Stop", f"Start {said} again")]


PATCHED = """---
title: Patch
minutes: 5
model: mini
---

## Which head

Link: ?page=lens&prompt=one+two+three&prompt_b=one+four+three&target=+one&distractor=+two

Question: Which head carries the most?

Check: top 1 patched
"""


@pytest.mark.usefixtures("unchecked")  # the last layer is run at one position alone
def test_the_check_of_an_answer_counts_its_parts_and_is_stopped(
    ending: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Pane()
    monkeypatch.setattr(patching, "PIECE_SECONDS", 0.0)  # of each head by itself
    monkeypatch.setattr(pane, "lesson_pane", drawn.draw)
    page = _page().run()
    drawn.say(page, "file", PATCHED)
    ending.add("lesson")
    drawn.say(page, "check", "L0H0")
    assert any("1 of 16 parts of the map done" in each.proto.text for each in page.get("progress"))
    ending.clear()
    _button(page, "Stop").click().run()
    assert drawn.props["verdict"] is None
    drawn.say(page, "check", "L0H0")
    assert drawn.props["verdict"]["text"].startswith("The model says L")


def test_back_while_work_goes_on_is_answered() -> None:
    """A script that draws itself anew takes its own address along, and would put it in the place of Back's."""

    def script() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner import get_script_run_ctx
        from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

        from headlight.app.frame import progress
        from headlight.app.runs import jobs

        context = get_script_run_ctx()
        assert context is not None

        def go_back(piece: str) -> None:
            assert context.script_requests is not None
            context.script_requests.request_rerun(RerunData(query_string="page=lens", is_history_navigation=True))

        st.text(f"{context.query_string} {context.is_history_navigation}")
        work = jobs.get_jobs("going on")
        if "begun" not in st.session_state:
            st.session_state["begun"] = True
            work.start(["piece"])
        progress.go_on(work, go_back)

    page = AppTest.from_function(script, default_timeout=SECONDS).run()
    assert not page.exception
    assert [each.value for each in page.text] == ["page=lens True"]
