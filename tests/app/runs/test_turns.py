"""Whose script begins when: of who has asked for much lately behind those of the others, by clocks that tests set."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import NoReturn

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.runs import turns as turns_module
from headlight.app.runs.recent_use import HALF_LIFE
from headlight.app.runs.turns import MAX_WAIT, Turns, for_several
from tests.places import MAIN

PEOPLE = ("a", "b", "c")


class Clock:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Scripts:
    """Scripts of sessions that end when they are told to; three people have used little, two readers much."""

    def __init__(self) -> None:
        self.clock, self._worked, self.begun = Clock(), Clock(), list[str]()
        self.turns, self._ends = Turns(self.clock, self._worked), defaultdict[str, Event](Event)
        for person in PEOPLE:
            self.use(person, 0.2)
        self.use("reader", 8)
        self.use("greedy reader", 9)

    def use(self, owner: str, seconds: float) -> None:
        """A script that takes some seconds of the processor, at once."""
        with self.turns.take(owner):
            self._worked.now += seconds

    @contextmanager
    def under_way(self) -> Iterator[Callable[[str], None]]:
        """Inside the `with` block scripts begin, each in its thread."""

        def run(owner: str) -> None:
            with self.turns.take(owner):
                self.begun.append(owner)
                self._ends[owner].wait(60)

        def begin(owner: str) -> None:
            pool.submit(run, owner)
            until(lambda: owner in (*self.begun, *self._waiting))

        with ThreadPoolExecutor(9) as pool:
            try:
                yield begin
            finally:
                for owner in (*PEOPLE, "reader", "greedy reader"):
                    self.end(owner)

    @property
    def _waiting(self) -> set[str]:
        return {str(owner) for owner in self.turns._waiting}

    def end(self, owner: str) -> None:
        """Have a script end, at once or when it has begun."""
        self._ends[owner].set()


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, which it does soon."""
    for _ in range(600):
        if holds():
            return
        Event().wait(0.1)
    _never()


def _never() -> NoReturn:
    raise AssertionError


def test_who_has_used_much_begins_behind_the_others_and_one_after_the_other() -> None:
    scripts = Scripts()
    with scripts.under_way() as begin:
        for owner in ("a", "greedy reader", "reader", "b"):
            begin(owner)
        assert scripts.begun == ["a", "b"]  # who has used little waits for nobody
        scripts.end("a")
        until(lambda: "a" not in scripts.turns._began)
        assert scripts.turns.is_behind("reader")
        scripts.end("b")
        until(lambda: len(scripts.begun) > 2)
        assert scripts.turns.is_behind("greedy reader")
        begin("c")
        assert scripts.begun == ["a", "b", "reader", "c"]
        scripts.end("reader")
        scripts.end("c")
        until(lambda: len(scripts.begun) > 4)
    assert scripts.begun == ["a", "b", "reader", "c", "greedy reader"]


@pytest.mark.parametrize(("used", "seconds"), [(8, 8), (100, MAX_WAIT)])
def test_nobody_waits_longer_than_it_has_used(used: float, seconds: float) -> None:
    scripts = Scripts()
    scripts.use("reader", used - 8)
    with scripts.under_way() as begin:
        begin("a")
        begin("reader")
        scripts.clock.now += seconds - 1
        scripts.begun.append("still waiting" if scripts._waiting == {"reader"} else "")
        scripts.clock.now += 1
        until(lambda: "reader" in scripts.begun)
    assert scripts.begun == ["a", "still waiting", "reader"]


def test_who_is_alone_or_among_others_who_use_as_much_waits_for_nobody() -> None:
    scripts = Scripts()
    alone = Turns(scripts.clock, scripts._worked)
    for owner, seconds in (("a", 39), ("b", 20)):
        with alone.take(owner):
            scripts._worked.now += seconds
    with alone.take("b"):
        assert not alone.is_behind("a")  # which has used nearly twice as much
    with alone.take("a"):  # whose script is long
        scripts.clock.now += 60
        assert not alone.is_behind("b")


def test_what_was_used_is_forgotten_with_time() -> None:
    scripts = Scripts()
    with scripts.turns.take("a"):
        assert scripts.turns.is_behind("reader")
        scripts.clock.now += 4 * HALF_LIFE
        assert not scripts.turns.is_behind("reader")


def test_a_part_of_a_script_begins_at_once_and_is_counted_once() -> None:
    scripts = Scripts()
    with scripts.turns.take("reader"), scripts.turns.take("reader"):
        scripts._worked.now += 1
    assert scripts.turns._used.seconds("reader", 0) == 9
    with pytest.raises(ZeroDivisionError), scripts.turns.take("reader"):
        raise ZeroDivisionError
    assert not scripts.turns._began


def test_what_is_computed_for_several_is_not_counted_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, turns = Clock(), Turns(Clock())
    monkeypatch.setattr(turns_module.time, "thread_time", clock)
    with turns.take("a"):
        clock.now += 1
        with for_several():
            clock.now += 10
            with for_several():
                clock.now += 10
        clock.now += 2
    assert turns._used.seconds("a", 0) == 3


def test_each_script_of_the_page_takes_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, owners = Turns(), list[object]()
    monkeypatch.setattr(turns_module, "_TURNS", turns)
    monkeypatch.setattr(turns, "_wait", owners.append)
    assert not AppTest.from_file(MAIN, default_timeout=60).run().exception
    assert len(set(owners)) == 1
