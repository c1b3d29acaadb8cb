"""Gate: a few runs at a time, and a fair line of those that wait for their turn, alone or together."""

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Event, Lock, get_ident, local
from typing import Any, TypeVar

from headlight.app.runs.limits import TICK, BusyError

Request = TypeVar("Request")
Value = TypeVar("Value")

MAX_TOGETHER = 8  # requests computed in one turn; of GPT-2-small's prompts more were measured to save little more
MAX_SIZE_TOGETHER = 256  # tokens of them all, padding included, beyond which weights are no longer what takes the time
HALF_LIFE = 30.0  # seconds after which half of an owner's use is forgotten
NEWEST = 0.1  # weight of the last run in the running averages


@dataclass(frozen=True)
class Place:
    """Place in the line, the first being 1, and an estimate of the seconds until its turn."""

    number: int
    seconds: float


@dataclass(frozen=True)
class Part:
    """A request that may be computed together with others of its group; those of like size cost least."""

    group: Hashable
    size: int
    request: Any


@dataclass(order=True)
class Ticket:
    """A run that waits or is under way; they are let in by `due`.

    One that is let in takes others of its group along: they are its `followers`, and get their values from it.
    """

    due: float
    number: int
    owner: Hashable = field(compare=False)
    estimate: float | None = field(compare=False)
    arrived: float = field(compare=False)
    part: Part | None = field(default=None, compare=False)
    began: float = field(default=0.0, compare=False)
    admitted: Event = field(default_factory=Event, compare=False)
    leader: "Ticket | None" = field(default=None, compare=False)
    followers: list["Ticket"] = field(default_factory=list, compare=False)
    values: list[Any] = field(default_factory=list, compare=False)  # none, or the one


class Gate:
    """Let `at_once` threads in at a time, and at most `waiting` more stand in a line.

    A place inside belongs to a thread, which keeps it when it enters again: nobody waits for a second place while
    holding one. `tell` is called every now and then in a thread that waits, and what it raises ends the waiting.

    The line is fair to owners, which are browser sessions. A run is due at the time of its arrival plus its estimated
    seconds plus the seconds that its owner has had lately: who has long work lets others pass, but only those who come
    within that time, so that nobody waits without end. `note` gets each run's seconds in line and inside. `begin` is
    called in a thread that has been let in, with the number of those inside.
    """

    def __init__(
        self,
        at_once: int,
        waiting: int,
        tell: Callable[[Place], None] = lambda place: None,
        owner: Callable[[], Hashable] = get_ident,
        clock: Callable[[], float] = time.monotonic,
        note: Callable[[float, float], None] = lambda waited, took: None,
        begin: Callable[[int], None] = lambda n_running: None,
    ) -> None:
        self._at_once, self._max_waiting, self._tell, self._owner = at_once, waiting, tell, owner
        self._clock, self._note, self._begin = clock, note, begin
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
            self._wait(ticket)
            self._go_in()
            yield
        finally:
            self._thread.is_inside = False
            self._leave(ticket)

    def share(
        self,
        group: Hashable,
        size: int,
        request: Request,
        compute: Callable[[Sequence[Request]], Sequence[Value]],
        estimate: float | None = None,
    ) -> Value:
        """The value of a request, computed in its turn, or in that of another of its group that is let in before it.

        `compute` gets the requests of those in line that fit one turn, and returns their values. Where it is broken
        off in the thread that calls it, the others go back into the line. A request that finds nobody in line is
        computed at once and alone.

        Raises:
            BusyError: the line is full.
        """
        if self.is_held:
            return compute([request])[0]
        ticket = self._queue(estimate, Part(group, size, request))
        try:
            self._wait(ticket)
            if not ticket.values:
                self._go_in()
                members = [ticket, *ticket.followers]
                values = compute([member.part.request for member in members if member.part])
                for member, computed in zip(members, values, strict=True):
                    member.values = [computed]
            value: Value = ticket.values[0]
            return value
        finally:
            self._thread.is_inside = False
            self._leave(ticket)

    def _wait(self, ticket: Ticket) -> None:
        while not ticket.admitted.wait(TICK):
            self._tell(self._place(ticket))

    def _go_in(self) -> None:
        self._thread.is_inside = True
        self._begin(self.n_running)

    def _queue(self, estimate: float | None, part: Part | None = None) -> Ticket:
        with self._lock:
            if len(self._running) + len(self._line) >= self._at_once + self._max_waiting:
                raise BusyError(
                    f"Busy: {self._at_once} runs are under way and the line behind them is full. "
                    "Nothing was started; try again in a few seconds."
                )
            now, owner = self._clock(), self._owner()
            due = now + self._expected(estimate) + self._lately(owner, now)
            ticket = Ticket(due, next(self._numbers), owner, estimate, now, part)
            heappush(self._line, ticket)
            self._admit()
            return ticket

    def _admit(self) -> None:
        while self._line and len(self._running) < self._at_once:
            ticket = heappop(self._line)
            ticket.followers = self._take_companions(ticket)
            for member in (ticket, *ticket.followers):
                member.began = self._clock()
            self._running[ticket.number] = ticket
            ticket.admitted.set()

    def _take_companions(self, leader: Ticket) -> list[Ticket]:
        """Take those out of the line that fit one turn with a ticket, beginning with the nearest in size."""
        part, taken = leader.part, list[Ticket]()
        if part is None:
            return taken
        like = [(other.part.size, other) for other in self._line if other.part and other.part.group == part.group]
        largest = part.size
        for size, other in sorted(like, key=lambda pair: (abs(pair[0] - part.size), pair[1])):
            largest, n = max(largest, size), len(taken) + 2
            if n > MAX_TOGETHER or n * largest > MAX_SIZE_TOGETHER:
                break
            taken.append(other)
        for other in taken:
            other.leader = leader
            self._line.remove(other)
        heapify(self._line)
        return taken

    def _leave(self, ticket: Ticket) -> None:
        """Give a place back, or leave the line; the next one is let in."""
        with self._lock:
            if self._running.pop(ticket.number, None) is not None:
                members = [ticket, *(other for other in ticket.followers if other.values)]
                for member in members:
                    self._count(member, len(members))
                for follower in ticket.followers:
                    self._dismiss(follower)
                self._admit()
            elif ticket.leader is not None:
                ticket.leader = None
            else:
                self._line.remove(ticket)
                heapify(self._line)

    def _dismiss(self, follower: Ticket) -> None:
        """Let a follower go with its value, or back into the line where that was not computed and it still waits."""
        if follower.values:
            follower.admitted.set()
        elif follower.leader is not None:
            follower.leader = None
            heappush(self._line, follower)

    def _count(self, ticket: Ticket, n_together: int) -> None:
        """Count the seconds of a run that has ended, its share of the turn."""
        now = self._clock()
        self._note(ticket.began - ticket.arrived, now - ticket.began)
        took = (now - ticket.began) / n_together
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
            now, before = self._clock(), [other for other in self._line if other < ticket and not ticket.leader]
            left = [max(0.0, self._expected(other.estimate) - (now - other.began)) for other in self._running.values()]
            seconds = sum(left) + sum(self._expected(other.estimate) for other in before)
            return Place(len(before) + 1, seconds / self._at_once)

    def _expected(self, estimate: float | None) -> float:
        return self._typical if estimate is None else estimate * self._pace
