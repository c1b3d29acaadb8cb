"""Which arrays and scripts travel: those that the browser does not hold, and none is taken as held that never left."""

import zlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit

from headlight.app.components.heading import _render
from headlight.app.components.shared import mount as mounting
from tests.unpacking import unpack

ARRAYS: dict[str, np.ndarray] = {"pattern": np.eye(3, dtype=np.float32), "scores": np.arange(4)}
SCRIPT = np.frombuffer(b"export default () => {};", np.uint8)
ALL = [*ARRAYS, "script"]


class _Stopped(BaseException):
    """What Streamlit raises in a run that the next one stops."""


class _Browser:
    """What arrives of a component, if anything does."""

    def __init__(self) -> None:
        self.stops = False
        self.arrived: list[str] = []
        self.lose: Callable[[], object] = lambda: None

    def render(self, *, data: bytes, on_lost_change: Any, **others: Any) -> SimpleNamespace:
        if self.stops:
            raise _Stopped
        self.arrived, self.lose = list(unpack(data)[1]), on_lost_change
        return SimpleNamespace(value=None)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> _Browser:
    monkeypatch.setattr(streamlit, "session_state", {})
    return _Browser()


def _mount(browser: _Browser, fetched: set[str] | None = None, in_form: bool = False) -> list[str]:
    component = mounting.Component(mounting.SHARED, SCRIPT, browser.render)
    mounting.mount(component, key="map", group="map", props={}, arrays=ARRAYS, fetched=fetched, in_form=in_form)
    return browser.arrived


def test_arrays_and_the_script_travel_once_and_again_when_they_were_lost(browser: _Browser) -> None:
    assert _mount(browser) == ALL
    assert _mount(browser) == []
    browser.lose()
    assert _mount(browser) == ALL


def test_what_the_browser_has_fetched_is_not_sent_unless_it_was_lost(browser: _Browser) -> None:
    fetched = {mounting.digest(ARRAYS["pattern"]), "of what is not shown"}
    assert _mount(browser, fetched) == ["scores", "script"]
    assert fetched == {"of what is not shown"}
    assert _mount(browser, fetched) == []
    browser.lose()
    assert not fetched
    assert _mount(browser, fetched) == ALL


def test_what_a_stopped_run_did_not_send_the_next_one_sends(browser: _Browser) -> None:
    browser.stops = True
    with pytest.raises(_Stopped):
        _mount(browser)
    browser.stops = False
    assert _mount(browser) == ALL


def test_one_in_a_form_gets_its_script_until_it_has_said_that_it_has_it(browser: _Browser) -> None:
    assert _mount(browser, in_form=True) == _mount(browser, in_form=True) == ALL
    script = mounting.digest(SCRIPT)
    streamlit.session_state["map"] = {"script": script}
    assert _mount(browser, in_form=True) == list(ARRAYS)
    streamlit.session_state["map"] = {"value": {"epoch": 0, "value": None}, "script": "of the server before"}
    assert _mount(browser, in_form=True) == ALL


def test_a_script_travels_compressed() -> None:
    sent = _render.script
    script = zlib.decompress(sent.tobytes()).decode()
    assert "class Heading " in script
    assert len(sent) < len(script) / 3


def test_an_array_that_cannot_change_is_read_once_and_any_other_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()
    digest = mounting._digest_anew
    monkeypatch.setattr(mounting, "_digest_anew", lambda array: read.append(id(array)) or digest(array))
    fixed, open_ = np.arange(3.0), np.arange(3.0)
    fixed.setflags(write=False)
    assert mounting.digest(fixed) == mounting.digest(fixed) == mounting.digest(open_)
    open_[0] = 1
    assert mounting.digest(open_) != mounting.digest(fixed)
    assert read == [id(fixed), id(open_), id(open_)]
    place = id(fixed)
    del fixed
    assert place not in mounting._digests  # what takes its place in memory is another array
