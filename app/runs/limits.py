"""Limits that share one machine among sessions: a cache that counts bytes, and a budget for each run."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, is_dataclass
from itertools import pairwise
from sys import getsizeof
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from headlight.model.base.errors import HeadlightError

Value = TypeVar("Value")

GIB = 2**30
TICK = 0.5  # seconds between two messages to a waiting caller


class BusyError(HeadlightError):
    """More runs are requested than the queue allows."""


@contextmanager
def acquired(lock: Lock, tell: Callable[[], None]) -> Iterator[None]:
    """Hold a lock for the length of a `with` block, and call `tell` every now and then while waiting for it."""
    while not lock.acquire(timeout=TICK):
        tell()
    try:
        yield
    finally:
        lock.release()


def held_bytes(value: object) -> int:
    """Bytes of the tensors and arrays in a value, including those in dataclasses, mappings and sequences."""
    if hasattr(value, "nbytes"):
        return value.nbytes
    own = getsizeof(value)
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return own + (sum(map(held_bytes, value)) if isinstance(value, tuple | list | set | frozenset) else 0)


class ByteCache:
    """Least-recently-used cache with a limit in bytes; thread-safe.

    The newest is kept even if it alone is larger than the bound: it is what somebody is looking at. So are the values
    `in_use`, such as both runs of a comparison: else each of two long runs would push out the other, and every click
    would compute both again. Values of up to a sixteenth of the bound, such as the pieces of a map, do not give way to
    larger ones, such as the runs that every piece needs, until they take half of it: else each piece would push out the
    last, and no map become whole. Values may have an `owner`, such as a model; `owners` are those of what is kept.
    """

    # Not cachetools' LRUCache: it refuses a value larger than its bound, has no look that is no use, and its decorator,
    # which makes a value once for all who ask, hides the cache. All that it would do is what OrderedDict does.

    def __init__(
        self,
        bound: int,
        size: Callable[[Any], int] = held_bytes,
        tell: Callable[[], None] = lambda: None,
        owner: Callable[[Any], Hashable | None] = lambda value: None,
    ) -> None:
        self._bound, self._size, self._tell, self._owner, self._held = bound, size, tell, owner, 0
        self._small, self._share_of_small, self._held_by_small = bound // 16, bound // 2, 0
        self._in_use: tuple[Hashable, ...] = ()
        self._n_owned = Counter[Hashable]()
        self._lock, self._kept = Lock(), OrderedDict[Hashable, tuple[Any, int, Hashable]]()
        self._making = WeakValueDictionary[Hashable, Any]()  # a lock a key, for as long as somebody holds or awaits it

    def get(self, key: Hashable, make: Callable[[], Value], may_wait: bool = True) -> Value:
        """Return the value kept under the key, making it first if there is none.

        A caller waits while another thread computes it, with messages by `tell` meanwhile; or computes it
        too, where it may not wait.
        """
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with acquired(making, self._tell) if may_wait else nullcontext():
            if (kept := self.find(key)) is not None:
                return kept
            value = make()
            self._put(key, value, self._size(value))
            return value

    def use(self, keys: tuple[Hashable, ...]) -> None:
        """Keep the values of these keys, in place of those that were in use before, until others are."""
        with self._lock:
            self._in_use = keys

    def find(self, key: Hashable) -> Any:
        """The value kept under the key; None if there is none."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
        return self.peek(key)

    def peek(self, key: Hashable) -> Any:
        """Cached value for a key, without marking it as used."""
        with self._lock:
            return self._kept.get(key, (None,))[0]

    def _put(self, key: Hashable, value: object, nbytes: int) -> None:
        with self._lock:
            self._let_go(key)
            owner = self._owner(value)
            self._kept[key] = value, nbytes, owner
            self._count(nbytes, owner, 1)
            while self._held > self._bound and (oldest := self._oldest()) is not None:
                self._let_go(oldest)

    def _oldest(self) -> Hashable | None:
        """Value to evict first: of the evictable ones the least recently used, never the newest or one in use."""
        spared = self._small if self._held_by_small <= self._share_of_small else -1
        giving_way = (key for key, (_, nbytes, _) in self._kept.items() if nbytes > spared)
        return next((key for key, _ in pairwise(giving_way) if key not in self._in_use), None)

    def _let_go(self, key: Hashable) -> None:
        if key in self._kept:
            _, nbytes, owner = self._kept.pop(key)
            self._count(nbytes, owner, -1)

    def _count(self, nbytes: int, owner: Hashable, sign: int) -> None:
        self._held += sign * nbytes
        self._held_by_small += sign * nbytes if nbytes <= self._small else 0
        self._n_owned[owner] += sign

    def drop(self, unwanted: Callable[[Any], bool]) -> None:
        """Let go of the unwanted values."""
        with self._lock:
            for key in [key for key, (value, *_) in self._kept.items() if unwanted(value)]:
                self._let_go(key)

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The keys of all values kept, that of the one used last at the end."""
        with self._lock:
            return tuple(self._kept)

    @property
    def owners(self) -> set[Hashable]:
        """Owners of the values kept; None of those that have none."""
        with self._lock:
            self._n_owned += Counter()  # leaves out those of which nothing is kept any more
            return set(self._n_owned)

    @property
    def nbytes(self) -> int:
        """Bytes of all values kept."""
        return self._held


@dataclass(frozen=True)
class Cost:
    """Cost of a run in bytes and seconds."""

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
        f"{estimate.seconds:.0f} s; a run may take {budget.nbytes / GIB:.3g} GiB and {budget.seconds:g} s here. "
        + (f"At most {most:,} tokens fit." if most else "Not one token fits: choose a smaller model.")
    )
