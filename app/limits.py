"""What keeps one machine usable by several sessions: a gate, a cache that counts bytes, and a budget for each run."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from threading import BoundedSemaphore, Lock
from typing import Any, TypeVar

from model.errors import HeadlightError

Value = TypeVar("Value")

GIB = 2**30


class BusyError(HeadlightError):
    """More runs are asked for than the machine is set to queue."""


class Gate:
    """Lets so many callers in at a time, lets so many more wait, and turns the rest away."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._places, self._at_once = BoundedSemaphore(at_once), at_once
        self._lock, self._room = Lock(), at_once + waiting

    @contextmanager
    def enter(self) -> Iterator[None]:
        """A place for the length of a `with` block.

        Raises:
            BusyError: every place, the waiting ones included, is taken.
        """
        self._take()
        try:
            with self._places:
                yield
        finally:
            with self._lock:
                self._room += 1

    def _take(self) -> None:
        with self._lock:
            if self._room == 0:
                raise BusyError(
                    f"Busy: {self._at_once} runs are under way and the queue behind them is full. "
                    "Nothing was started; try again in a few seconds."
                )
            self._room -= 1


class ByteCache:
    """Keeps what was used last, up to so many bytes in all; safe between threads.

    What alone is larger than the bound is not kept.
    """

    def __init__(self, bound: int) -> None:
        self._bound, self._held = bound, 0
        self._lock, self._kept = Lock(), OrderedDict[Hashable, tuple[Any, int]]()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value kept under the key, made first if there is none; two threads that ask at once may both make it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = make()
        self._put(key, value, held_bytes(value))
        return value

    def _put(self, key: Hashable, value: object, nbytes: int) -> None:
        with self._lock:
            self._held += nbytes - self._kept.pop(key, (None, 0))[1]
            self._kept[key] = value, nbytes
            while self._held > self._bound:
                self._held -= self._kept.popitem(last=False)[1][1]

    @property
    def nbytes(self) -> int:
        """Bytes of all values kept."""
        return self._held


def held_bytes(value: object) -> int:
    """Bytes of the tensors and arrays in a value, and in its dataclasses, mappings and sequences."""
    if hasattr(value, "nbytes"):
        return value.nbytes
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return sum(map(held_bytes, value)) if isinstance(value, tuple | list) else 0


@dataclass(frozen=True)
class Cost:
    """What a run takes: bytes and seconds."""

    nbytes: float
    seconds: float

    def within(self, budget: "Cost") -> bool:
        """Whether neither is over the budget."""
        return self.nbytes <= budget.nbytes and self.seconds <= budget.seconds


def check_cost(n_tokens: int, cost: Callable[[int], Cost], budget: Cost) -> None:
    """Refuse a run whose estimated cost is over the budget.

    Raises:
        HeadlightError: with the estimate, the budget, and how many tokens would fit.
    """
    estimate = cost(n_tokens)
    if estimate.within(budget):
        return
    most = next((fewer for fewer in range(n_tokens - 1, 0, -1) if cost(fewer).within(budget)), 0)
    raise HeadlightError(
        f"{n_tokens:,} tokens of this model would take about {estimate.nbytes / GIB:.1f} GiB and "
        f"{estimate.seconds:.0f} s; a run may take {budget.nbytes / GIB:g} GiB and {budget.seconds:g} s here. "
        + (f"At most {most:,} tokens fit." if most else "Not one token fits: choose a smaller model.")
    )
