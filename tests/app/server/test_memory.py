"""How the process keeps its memory."""

import gc
import sys
import time
import tomllib
from collections import Counter
from threading import Event, current_thread, get_ident, main_thread
from types import ModuleType
from weakref import ref

import pytest

from headlight.app.server import memory
from headlight.app.server.settings import SERVER


def test_what_is_freed_is_collected_once_the_page_is_drawn() -> None:
    """The server starts without the collector, and would else keep every cycle for as long as it runs."""
    gc.disable()
    try:
        memory.spare_modules()
        assert gc.isenabled()
    finally:
        gc.enable()


class _Cycle:
    """What only the collector frees."""

    def __init__(self) -> None:
        self.own = self


def test_what_was_spared_is_looked_through_again_when_a_library_comes_in_and_not_for_one_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_n_modules", 0)
    cycle = _Cycle()
    gone = ref(cycle)
    memory.spare_modules()
    del cycle
    monkeypatch.setitem(sys.modules, "one_more", ModuleType("one_more"))
    memory.spare_modules()
    gc.collect()
    assert gone() is not None
    for number in range(memory.MANY):
        monkeypatch.setitem(sys.modules, f"of_a_library_{number}", ModuleType("of_a_library"))
    memory.spare_modules()
    assert gone() is None


def test_garbage_is_collected_some_time_after_a_script_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after each: that goes through the objects of all sessions while nobody else is served."""
    collected = Event()
    monkeypatch.setattr(memory, "COLLECT_EVERY", 0.01)
    monkeypatch.setattr(memory, "_has_run", Event())
    monkeypatch.setattr(memory.gc, "collect", collected.set)
    memory.collect_regularly()
    assert not collected.wait(0.2)
    memory.spare_modules()
    assert collected.wait(10)
    options = tomllib.loads((SERVER.parent / ".streamlit" / "config.toml").read_text())
    assert options["runner"]["postScriptGC"] is False


def test_the_longer_it_takes_to_collect_the_less_often_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    n_collected = Counter[int]()  # by thread: those of tests before may still be there

    def collect() -> None:
        if current_thread() is main_thread():
            return  # for modules that were imported since
        n_collected[get_ident()] += 1
        began = time.thread_time()
        while time.thread_time() < began + 0.1:
            pass

    monkeypatch.setattr(memory, "COLLECT_EVERY", 0.01)
    monkeypatch.setattr(memory, "_has_run", Event())
    monkeypatch.setattr(memory.gc, "collect", collect)
    memory.collect_regularly()
    give_up = time.monotonic() + 10
    while not n_collected and time.monotonic() < give_up:
        memory.spare_modules()
    since = time.monotonic()
    while time.monotonic() < since + 1.0:  # the next is due after five seconds
        memory.spare_modules()
        time.sleep(0.01)
    assert set(n_collected.values()) == {1}
