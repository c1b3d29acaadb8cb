"""Turns of page scripts: those of a session that asks without a rest give way to everybody else's.

Each request of a browser runs the page's script, and ends the one that is under way. A page that asks for more before
it has read what it got would else take the processor from people who wait for what they have asked.
"""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock, local

from streamlit.runtime.scriptrunner import RerunException

from headlight.app.frame import progress
from headlight.app.runs import visitors

HALF_LIFE = 10.0  # seconds after which half of a session's requests are forgotten
FREE = 10.0  # requests lately up to which a session gives way to nobody; somebody who clicks fast has fewer
FOR_NOTHING = 3.0  # requests that an interruption counts for besides: the script before it worked for nothing
FRESH = 2.0  # seconds; a script that takes longer waits for long work, and others need not wait for it
REST = 3.0  # times that a script took which gave way, until the next such script may begin
TICK = 0.05  # seconds between two looks at whether a script may begin


class ScriptTurns:
    """Let scripts begin at once; where their session has asked too much lately, one at a time while no other runs.

    Nobody gives way where nobody else has asked lately. `check` is called every now and then in a thread that waits,
    and what it raises ends the waiting.
    """

    def __init__(
        self,
        check: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._check, self._clock, self._sleep, self._lock = check, clock, sleep, Lock()
        self._lately = dict[Hashable, tuple[float, float]]()  # a session's requests, and when they were counted
        self._under_way = dict[object, float]()  # when each script began
        self._free_from = 0.0  # when the next script that gives way may begin

    @contextmanager
    def turn(self, session: Hashable) -> Iterator[None]:
        """Run a session's script inside the `with` block, when it is its turn."""
        self.count(session)
        script = object()
        gave_way = self._begin(session, script)
        try:
            yield
        finally:
            self._end(script, gave_way)

    def count(self, session: Hashable, n: float = 1.0) -> None:
        """Count a session's requests, not more than are forgotten in ten seconds, so that nobody waits without end."""
        with self._lock:
            now = self._clock()
            self._lately[session] = min(2 * FREE, self._asked(session) + n), now
            self._lately = {key: kept for key, kept in self._lately.items() if now - kept[1] < 10 * HALF_LIFE}

    def _begin(self, session: Hashable, script: object) -> bool:
        """Wait until a script may begin; return whether it gave way to others."""
        while True:
            with self._lock:
                gives_way = self._asked(session) > FREE and self._is_anybody_else(session)
                if not gives_way or self._is_quiet():
                    self._under_way[script] = self._clock()
                    return gives_way
            self._check()
            self._sleep(TICK)

    def _end(self, script: object, gave_way: bool) -> None:
        with self._lock:
            took = self._clock() - self._under_way.pop(script)
            if gave_way:
                self._free_from = self._clock() + REST * min(took, FRESH)

    def _is_quiet(self) -> bool:
        now = self._clock()
        return now >= self._free_from and all(now - began > FRESH for began in self._under_way.values())

    def _is_anybody_else(self, session: Hashable) -> bool:
        now = self._clock()
        return any(other != session and now - counted < HALF_LIFE for other, (_, counted) in self._lately.items())

    def _asked(self, session: Hashable) -> float:
        n, counted = self._lately.get(session, (0.0, 0.0))
        return n * 0.5 ** ((self._clock() - counted) / HALF_LIFE)


_TURNS = ScriptTurns(progress.hear_stop)
_thread = local()  # one runs a session's scripts as long as each asks for the next


@contextmanager
def in_turn() -> Iterator[None]:
    """Run this session's script, when it is its turn; at once where the page draws itself anew."""
    session, is_redraw = visitors.session(), getattr(_thread, "is_redraw", False)
    _thread.is_redraw = False
    try:
        with nullcontext() if is_redraw else _TURNS.turn(session):
            yield
    except RerunException as again:
        _thread.is_redraw = again.rerun_data.widget_states is None  # which a browser sends, and the page does not
        if not (is_redraw or _thread.is_redraw):
            _TURNS.count(session, FOR_NOTHING)
        raise
