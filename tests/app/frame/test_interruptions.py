"""How long a page pauses that asks again and again before it is answered."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest

from headlight.app.frame import interruptions
from headlight.app.frame.interruptions import paused
from headlight.app.server import capacity, memory
from tests.places import MAIN

AGAIN = RerunException(RerunData(widget_states=WidgetStates()))
ENDS = {"answered": None, "broken": ZeroDivisionError(), "draws itself anew": RerunException(RerunData())}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, none of which takes any time."""
    made = list[float]()
    monkeypatch.setattr(capacity, "n_sessions", lambda: 2)
    monkeypatch.setattr(interruptions, "time", SimpleNamespace(sleep=made.append))
    return made


@pytest.fixture
def run() -> Callable[..., None]:
    """Run scripts of a session by a thread of its own, each with what ends it."""

    def scripts(*ends: BaseException | None) -> None:
        for end in ends:
            with suppress(RerunException, ZeroDivisionError), paused():
                if end is not None:
                    raise end

    def in_thread(*ends: BaseException | None) -> None:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(scripts, *ends).result()

    return in_thread


def test_who_asks_again_without_end_pauses_longer_each_time(pauses: list[float], run: Callable[..., None]) -> None:
    run(*[AGAIN] * 10)
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 8, 8]


def test_who_is_alone_on_the_server_does_not_pause(
    pauses: list[float], run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "n_sessions", lambda: 1)
    run(*[AGAIN] * 10)
    assert pauses == []


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_whose_script_ends_now_and_then_does_not_pause(
    end: BaseException | None, pauses: list[float], run: Callable[..., None]
) -> None:
    for _ in range(3):
        run(AGAIN, AGAIN, end, AGAIN, AGAIN)
    assert pauses == []
    run(AGAIN, AGAIN, AGAIN, AGAIN, end, AGAIN, AGAIN)
    assert pauses == [0.25, 0.5]


def test_the_page_pauses_so(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_again() -> None:
        if len(pauses) < 3:
            raise AGAIN

    monkeypatch.setattr(memory, "spare_modules", ask_again)
    assert not AppTest.from_file(MAIN, default_timeout=60).run().exception
    assert pauses == [0.25, 0.5, 1]
