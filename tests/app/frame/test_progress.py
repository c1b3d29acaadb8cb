"""A long first pass shows how far it is, and is stopped by a press; what was asked for can be asked for again."""

import pytest
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest

from headlight.app.frame import progress
from headlight.app.runs import passes
from headlight.app.runs.passes import Listener
from tests.places import MAIN

SECONDS = 120


def _page() -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    page.query_params["prompt"] = "one two one two"
    return page


def test_a_pass_is_stopped_and_run_again(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the browser, where the press ends the script's run in the midst of the pass."""
    settings["model"] = "mini"
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    heard_by, pressed = passes.heard_by, [True]

    def until_pressed(hear: Listener):
        def hear_and_end(done: int, total: int) -> None:
            hear(done, total)
            if pressed and done == 1:
                raise StopException

        return heard_by(hear_and_end)

    monkeypatch.setattr(passes, "heard_by", until_pressed)
    page = _page().run()
    stop = next(button for button in page.button if button.label == "Stop")
    assert not [button for button in page.button if button.label == "Stop" and button is not stop]
    pressed.clear()
    stop.click().run()
    assert not page.exception
    assert any(text.value.startswith("Stopped.") for text in page.text)
    next(button for button in page.button if button.label == "Run").click().run()
    assert not page.exception
    assert not any(text.value.startswith("Stopped.") for text in page.text)
    assert not [button for button in page.button if button.label == "Stop"]
