"""The byte-bounded cache and the budget of a run."""

from concurrent.futures import ThreadPoolExecutor
from sys import getsizeof
from threading import Event

import numpy as np
import pytest
import torch

from headlight.app.runs import limits, passes, runs
from headlight.app.runs.limits import GIB, ByteCache, Cost, check_cost, held_bytes
from headlight.model.base.errors import HeadlightError


def test_who_holds_a_place_does_not_wait_for_a_result_whose_maker_waits_for_it(settings: dict[str, object]) -> None:
    settings.update(runs_at_once=1, runs_waiting=1)
    begun = Event()

    def make() -> str:
        begun.set()
        with runs.turn():
            return "made"

    def end(*progress: object) -> None:
        pytest.fail("it waits")

    with ThreadPoolExecutor(1) as pool:
        with runs.turn(), passes.heard_by(end):
            other = pool.submit(runs.keep, "result", make)
            assert begun.wait(10)  # it holds the result's lock, and waits for the place
            assert runs.keep("result", make) == "made"
        assert other.result(10) == "made"


class _Ended(BaseException):
    """What Streamlit raises in a script's run that is to end."""


def test_whoever_waits_is_told_so_and_can_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TICK", 0.01)
    waits: list[int] = []

    def tell() -> None:
        waits.append(1)
        if len(waits) == 3:
            raise _Ended

    cache = ByteCache(bound=100, tell=tell)
    begun, leave = Event(), Event()

    def make() -> str:
        begun.set()
        leave.wait(10)
        return "made"

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(cache.get, "slow", make)
        assert begun.wait(10)
        with pytest.raises(_Ended):
            cache.get("slow", make)
        leave.set()
        assert other.result(10) == cache.get("slow", make) == "made"


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


def test_small_values_stay_beside_large_ones_as_far_as_their_share_goes() -> None:
    cache, large, small = ByteCache(bound=160), np.zeros(200, np.uint8), np.zeros(10, np.uint8)
    for name in "abcdefgh":
        cache.get(name, lambda: small.copy())
    for name in "AB":
        cache.get(name, lambda: large.copy())
    assert (cache.keys, cache.nbytes) == ((*"abcdefgh", "B"), 280)
    cache.get("i", lambda: small.copy())  # they would have more than half of the bound
    assert cache.keys == (*"bcdefgh", "B", "i")


def test_a_look_at_a_value_does_not_keep_it_longer() -> None:
    cache = ByteCache(bound=200)
    old, new, newest = (np.zeros(100, np.uint8) for _ in range(3))
    cache.get("old", lambda: old)
    cache.get("new", lambda: new)
    assert cache.peek("old") is old
    assert cache.peek("none") is None
    cache.get("newest", lambda: newest)
    assert cache.keys == ("new", "newest")


def test_what_alone_is_too_large_is_kept_until_the_next_comes() -> None:
    cache, made = ByteCache(bound=10), []
    for _ in range(2):
        cache.get("big", lambda: made.append(1) or np.ones(11, np.uint8))
    assert (len(made), cache.nbytes) == (1, 11)
    cache.get("small", lambda: np.ones(1, np.uint8))
    assert (cache.keys, cache.nbytes) == (("small",), 1)


def test_what_is_in_use_is_kept_even_where_it_is_too_large_together() -> None:
    cache, made = ByteCache(bound=10), []

    def make(name: str) -> np.ndarray:
        made.append(name)
        return np.ones(8, np.uint8)

    cache.get("before", lambda: make("before"))
    cache.use(("a", "b"))
    for name in "abab":
        cache.get(name, lambda name=name: make(name))
    assert made == ["before", "a", "b"]
    assert cache.keys == ("a", "b")
    cache.use(("c",))
    cache.get("c", lambda: make("c"))
    assert (cache.keys, cache.nbytes) == (("c",), 8)


def test_unwanted_values_are_let_go_of() -> None:
    cache = ByteCache(bound=100, size=len)
    for word in ("one", "three", "two"):
        cache.get(word, lambda word=word: word)
    cache.drop(lambda word: len(word) == 3)
    assert (cache.keys, cache.nbytes) == (("three",), 5)


def test_owners_are_those_of_what_is_kept() -> None:
    cache = ByteCache(bound=10, size=len, owner=lambda word: word[0] if word[0].isupper() else None)
    for word in ("Anna", "Adam", "be"):
        cache.get(word, lambda word=word: word)
    assert cache.owners == {"A", None}
    cache.get("Bertha", lambda: "Bertha")  # Anna was used longest ago, then Adam
    assert (cache.keys, cache.owners) == (("be", "Bertha"), {None, "B"})
    cache.drop(str.islower)
    assert cache.owners == {"B"}


def test_each_value_is_asked_for_its_owner_once() -> None:
    """Who asks at every run for the owners of all that is kept does not go through it."""
    asked = list[str]()
    cache = ByteCache(bound=100, size=len, owner=asked.append)
    for word in ("one", "two", "three"):
        cache.get(word, lambda word=word: word)
        assert cache.owners == {None}
    assert asked == ["one", "two", "three"]


def test_what_two_ask_for_at_once_is_made_once_and_keeps_nobody_else_waiting() -> None:
    cache, made, begun, go_on = ByteCache(bound=100), [], Event(), Event()

    def make() -> np.ndarray:
        made.append(1)
        begun.set()
        go_on.wait(10)
        return np.zeros(1, np.uint8)

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(cache.get, "slow", make) for _ in range(2)]
        assert begun.wait(10)
        assert cache.get("other", lambda: np.ones(2, np.uint8)).sum() == 2
        go_on.set()
        assert results[0].result(10) is results[1].result(10)
    assert len(made) == 1


def test_what_could_not_be_made_is_tried_again() -> None:
    cache = ByteCache(bound=100)
    with pytest.raises(ZeroDivisionError):
        cache.get("x", lambda: 1 / 0)
    assert cache.get("x", lambda: "made") == "made"


def test_bytes_are_counted_inside_of_what_holds_them() -> None:
    nested = {"a": (torch.zeros(3, dtype=torch.float64), [np.zeros(5, np.uint16)]), "b": "text"}
    objects = (nested, nested["a"], nested["a"][1], "text")
    assert held_bytes(nested) == 3 * 8 + 5 * 2 + sum(map(getsizeof, objects))


def test_no_number_of_small_results_is_kept_for_nothing(settings: dict[str, object]) -> None:
    settings["cache_gib"] = 10_000 / GIB
    for number in range(100):
        runs.keep(("a verdict", number), lambda: True)
    assert 5 <= len(runs._results().keys) <= 10


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
