"""Turns of the pages' scripts: of a session that has used much lately it begins behind those of the others.

A page's script takes the processor outside of the gate of runs too, for what it draws and sends. Scripts of all
sessions run at once; only who asks again and again, and has used several times what the others have, lets these pass.
"""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from statistics import median_low
from threading import Condition, local

from headlight.app.runs import visitors
from headlight.app.runs.recent_use import RecentUse

MIN_USE = 1.0  # seconds of the processor; who has used less lets nobody pass
FACTOR = 2.0  # how many times as much as half of the sessions one has to have used
MAX_WAIT = 10.0  # seconds
TICK = 0.1


_thread = local()


def _worked() -> float:
    """Seconds of the processor that this thread has taken for its own session."""
    return time.thread_time() - getattr(_thread, "for_others", 0.0)


@contextmanager
def for_several() -> Iterator[None]:
    """Compute what several sessions wait for, which is not counted for this thread's."""
    before = _worked()
    try:
        yield
    finally:
        _thread.for_others = getattr(_thread, "for_others", 0.0) + _worked() - before


class Turns:
    """Scripts under way, and those that wait to begin.

    A session that has used more than `MIN_USE` seconds lately, and more than `FACTOR` times the median of all that were
    active lately, waits while a script of one that has used less is under way or waits: so these begin at once, and
    those that have used much one after the other between them. Nobody waits for more seconds than it has used.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, worked: Callable[[], float] = _worked) -> None:
        self._clock, self._worked, self._changed = clock, worked, Condition()
        self._used, self._began, self._waiting = RecentUse(), dict[Hashable, float](), set[Hashable]()

    @contextmanager
    def take(self, owner: Hashable) -> Iterator[None]:
        """Begin a script when it is its session's turn, and count what it has used; a part of one is let in at once."""
        if owner in self._began:
            yield
            return
        self._wait(owner)
        before = self._worked()
        try:
            yield
        finally:
            with self._changed:
                self._began.pop(owner, None)
                self._used.add(owner, self._worked() - before, self._clock())
                self._changed.notify_all()

    def _wait(self, owner: Hashable) -> None:
        with self._changed:
            now = self._clock()
            until = now + min(MAX_WAIT, self._used.seconds(owner, now))
            self._waiting.add(owner)
            while self._clock() < until and self.is_behind(owner):
                self._changed.wait(TICK)
            self._waiting.discard(owner)
            self._began[owner] = self._clock()

    def is_behind(self, owner: Hashable) -> bool:
        """Whether a session's script lets others pass."""
        now, at_it = self._clock(), {*self._began, *self._waiting}
        used = {each: self._seconds(each, now) for each in {owner, *at_it, *self._used.active(now)}}
        if used[owner] <= max(MIN_USE, FACTOR * median_low(used.values())):
            return False
        return any(used[each] < used[owner] for each in at_it)

    def _seconds(self, owner: Hashable, now: float) -> float:
        """What an owner has used, with all the time of its script that is under way."""
        return self._used.seconds(owner, now) + now - self._began.get(owner, now)


_TURNS = Turns()


@contextmanager
def turn() -> Iterator[None]:
    """Begin the script of this thread's session, or a part of it, when it is its turn."""
    with _TURNS.take(visitors.session()):
        yield
