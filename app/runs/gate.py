"""Gate: a few runs at a time, and a fair line of those that wait for their turn."""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Event, Lock, get_ident, local

from headlight.app.runs.limits import TICK, BusyError

HALF_LIFE = 30.0  # seconds after which half of an owner's use is forgotten
NEWEST = 0.1  # weight of the last run in the running averages


@dataclass(frozen=True)
class Place:
    """Place in the line, the first being 1, and an estimate of the seconds until its turn."""

    number: int
    seconds: float


@dataclass(order=True)
class Ticket:
    """A run that waits or is under way; they are let in by `due`."""

    due: float
    number: int
    owner: Hashable = field(compare=False)
    estimate: float | None = field(compare=False)
    arrived: float = field(compare=False)
    began: float = field(default=0.0, compare=False)
    admitted: Event = field(default_factory=Event, compare=False)


class Gate:
    """Let `at_once` threads in at a time, and at most `waiting` more stand in a line.

    A place inside belongs to a thread, which keeps it when it enters again: nobody waits for a second place while
    holding one. `tell` is called every now and then in a thread that waits, and what it raises ends the waiting.

    The line is fair to owners, which are browser sessions. A run is due at the time of its arrival plus its estimated
    seconds plus the seconds that its owner has had lately: who has long work lets others pass, but only those who come
    within that time, so that nobody waits without end. `note` gets each run's seconds in line and inside.
    """

    def __init__(
        self,
        at_once: int,
        waiting: int,
        tell: Callable[[Place], None] = lambda place: None,
        owner: Callable[[], Hashable] = get_ident,
        clock: Callable[[], float] = time.monotonic,
        note: Callable[[float, float], None] = lambda waited, took: None,
    ) -> None:
        self._at_once, self._max_waiting, self._tell, self._owner = at_once, waiting, tell, owner
        self._clock, self._note = clock, note
        self._lock, self._numbers, self._thread = Lock(), count(), local()
        self._line, self._running = list[Ticket](), dict[int, Ticket]()
        self._used = dict[Hashable, tuple[float, float]]()  # seconds, and when they were counted
        self._typical, self._pace = 0.1, 1.0  # seconds of a run, and seconds taken by estimated seconds

    @property
    def is_held(self) -> bool:
        """Whether the calling thread has a place inside."""
        return getattr(self._thread, "is_inside", False)

    @property
    def n_waiting(self) -> int:
        """Length of the line."""
        return len(self._line)

    @property
    def n_running(self) -> int:
        """Number of runs under way."""
        return len(self._running)

    @contextmanager
    def enter(self, estimate: float | None = None) -> Iterator[None]:
        """Hold a place for the length of a `with` block: the thread's own, if it has one.

        Args:
            estimate: seconds that it will be held, where they are known.

        Raises:
            BusyError: the line is full.
        """
        if self.is_held:
            yield
            return
        ticket = self._queue(estimate)
        try:
            while not ticket.admitted.wait(TICK):
                self._tell(self._place(ticket))
            self._thread.is_inside = True
            yield
        finally:
            self._thread.is_inside = False
            self._leave(ticket)

    def _queue(self, estimate: float | None) -> Ticket:
        with self._lock:
            if len(self._running) + len(self._line) >= self._at_once + self._max_waiting:
                raise BusyError(
                    f"Busy: {self._at_once} runs are under way and the line behind them is full. "
                    "Nothing was started; try again in a few seconds."
                )
            now, owner = self._clock(), self._owner()
            due = now + self._expected(estimate) + self._lately(owner, now)
            ticket = Ticket(due, next(self._numbers), owner, estimate, now)
            heappush(self._line, ticket)
            self._admit()
            return ticket

    def _admit(self) -> None:
        while self._line and len(self._running) < self._at_once:
            ticket = heappop(self._line)
            ticket.began = self._clock()
            self._running[ticket.number] = ticket
            ticket.admitted.set()

    def _leave(self, ticket: Ticket) -> None:
        """Give a place back, or leave the line; the next one is let in."""
        with self._lock:
            if self._running.pop(ticket.number, None) is None:
                self._line.remove(ticket)
                heapify(self._line)
                return
            self._count(ticket)
            self._admit()

    def _count(self, ticket: Ticket) -> None:
        """Count the seconds of a run that has ended."""
        now = self._clock()
        took = now - ticket.began
        self._note(ticket.began - ticket.arrived, took)
        if ticket.estimate:
            self._pace += NEWEST * (took / ticket.estimate - self._pace)
        else:
            self._typical += NEWEST * (took - self._typical)
        self._used[ticket.owner] = took + self._lately(ticket.owner, now), now
        self._used = {owner: used for owner, used in self._used.items() if now - used[1] < 10 * HALF_LIFE}

    def _lately(self, owner: Hashable, now: float) -> float:
        seconds, counted = self._used.get(owner, (0.0, now))
        return seconds * 0.5 ** ((now - counted) / HALF_LIFE)

    def _place(self, ticket: Ticket) -> Place:
        """Place of a ticket in the line, and the seconds until its turn by the runs before it."""
        with self._lock:
            now, before = self._clock(), [other for other in self._line if other < ticket]
            left = [max(0.0, self._expected(other.estimate) - (now - other.began)) for other in self._running.values()]
            seconds = sum(left) + sum(self._expected(other.estimate) for other in before)
            return Place(len(before) + 1, seconds / self._at_once)

    def _expected(self, estimate: float | None) -> float:
        return self._typical if estimate is None else estimate * self._pace
