"""How the process keeps its memory."""

import gc
import sys
from types import ModuleType
from weakref import ref

import pytest

from headlight.app.server import memory


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
