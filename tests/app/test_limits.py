"""The gate, the byte-bounded cache and the budget of a run."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
import torch

from app.limits import GIB, BusyError, ByteCache, Cost, Gate, check_cost, held_bytes
from model.errors import HeadlightError


def test_the_gate_lets_some_in_has_some_wait_and_turns_the_rest_away() -> None:
    gate, inside, leave = Gate(at_once=2, waiting=1), [], Event()

    def stay() -> None:
        with gate.enter():
            inside.append(1)
            leave.wait(10)

    with ThreadPoolExecutor(3) as pool:
        stays = [pool.submit(stay) for _ in range(3)]
        while gate._room:
            pass
        with pytest.raises(BusyError, match=r"2 runs are under way.*try again"), gate.enter():
            pass
        assert len(inside) <= 2
        leave.set()
        for each in stays:
            each.result(10)
    assert len(inside) == 3
    with gate.enter():
        pass


def test_the_gate_gives_the_place_back_after_an_error() -> None:
    gate = Gate(at_once=1, waiting=0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), gate.enter():
            raise ZeroDivisionError


def test_the_cache_stays_within_its_bytes_and_lets_go_of_what_was_used_longest_ago() -> None:
    cache, made = ByteCache(bound=300), []

    def make(name: str) -> np.ndarray:
        made.append(name)
        return np.zeros(100, np.uint8)

    for name in "abcab":  # all three fit
        cache.get(name, lambda name=name: make(name))
    assert (made, cache.nbytes) == (["a", "b", "c"], 300)
    cache.get("d", lambda: make("d"))  # c was used longest ago
    for name in "abd":
        cache.get(name, lambda name=name: make(name))
    assert (made, cache.nbytes) == (["a", "b", "c", "d"], 300)
    cache.get("c", lambda: make("c"))
    assert made[-1] == "c"


def test_what_alone_is_too_large_is_given_but_not_kept() -> None:
    cache = ByteCache(bound=10)
    assert cache.get("big", lambda: np.ones(11, np.uint8)).sum() == 11
    assert cache.nbytes == 0


def test_bytes_are_counted_inside_of_what_holds_them() -> None:
    nested = {"a": (torch.zeros(3, dtype=torch.float64), [np.zeros(5, np.uint16)]), "b": "text"}
    assert held_bytes(nested) == 3 * 8 + 5 * 2


def test_a_run_over_the_budget_is_refused_with_what_would_fit() -> None:
    def cost(n_tokens: int) -> Cost:
        return Cost(n_tokens * GIB / 10, n_tokens)

    check_cost(20, cost, Cost(2 * GIB, 100))
    with pytest.raises(HeadlightError, match=r"30 tokens.*3\.0 GiB and 30 s; .*2 GiB and 100 s.*At most 20 tokens fit"):
        check_cost(30, cost, Cost(2 * GIB, 100))
    with pytest.raises(HeadlightError, match="At most 7 tokens fit"):
        check_cost(30, cost, Cost(2 * GIB, 7))
    with pytest.raises(HeadlightError, match="choose a smaller model"):
        check_cost(30, cost, Cost(1, 100))
