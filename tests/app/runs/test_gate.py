"""The gate of runs: how many are inside, who is next in line, and what those who wait read."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, Event, local

import pytest

from headlight.app.runs import gate as gate_module
from headlight.app.runs import passes
from headlight.app.runs.gate import Gate, Place
from headlight.app.runs.limits import BusyError


def test_the_gate_lets_some_in_has_some_wait_and_turns_the_rest_away() -> None:
    gate, inside, leave = Gate(at_once=2, waiting=1), [], Event()

    def stay() -> None:
        with gate.enter():
            inside.append(1)
            leave.wait(10)

    with ThreadPoolExecutor(3) as pool:
        stays = [pool.submit(stay) for _ in range(3)]
        while not gate.n_waiting:
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


def test_one_that_is_let_in_reads_how_many_are_inside() -> None:
    inside = list[int]()
    gate = Gate(at_once=2, waiting=0, begin=inside.append)
    with ThreadPoolExecutor(1) as pool, gate.enter():
        pool.submit(_enter_and_leave, gate).result(10)
        with gate.enter():
            pass  # which it is already
    assert gate.share("group", 1, 5, lambda requests: requests) == 5
    assert inside == [1, 2, 1]


def test_the_gate_gives_the_place_back_after_an_error() -> None:
    gate = Gate(at_once=1, waiting=0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), gate.enter():
            raise ZeroDivisionError


def test_a_thread_keeps_its_place_when_it_asks_for_another() -> None:
    gate = Gate(at_once=1, waiting=0)
    with gate.enter():
        with gate.enter(), ThreadPoolExecutor(1) as pool:
            assert not pool.submit(lambda: gate.is_held).result(10)  # it is this thread's alone
        assert gate.is_held
        with ThreadPoolExecutor(1) as pool, pytest.raises(BusyError):
            pool.submit(lambda: gate.enter().__enter__()).result(10)
    assert not gate.is_held
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_enter_and_leave, gate).result(10)


def _enter_and_leave(gate: Gate) -> None:
    with gate.enter():
        assert gate.is_held


class _Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class _Line:
    """A gate of one place, whose owners a test names, and the order in which they were let in."""

    def __init__(self, pool: ThreadPoolExecutor, tell: Callable[[Place], None] = lambda place: None) -> None:
        self.clock, self.order, self._pool, self._name = _Clock(), list[str](), pool, ""
        self.gate = Gate(1, 100, tell, lambda: self._name, self.clock)

    def use(self, owner: str, seconds: float) -> None:
        """Let an owner have the place for so long."""
        self._name = owner
        with self.gate.enter():
            self.clock.now += seconds

    def arrive(self, owner: str, estimate: float | None = None) -> None:
        """Put an owner into the line."""

        def enter() -> None:
            with self.gate.enter(estimate):
                self.order.append(owner)

        self._name, n_waiting = owner, self.gate.n_waiting
        self._pool.submit(enter)
        while self.gate.n_waiting == n_waiting:
            pass


def test_who_has_long_work_waits_behind_who_has_none_but_not_without_end() -> None:
    with ThreadPoolExecutor(9) as pool:
        line = _Line(pool)
        line.use("busy", 10)
        line._name = "inside"
        with line.gate.enter():
            line.arrive("busy")
            line.arrive("new")
            line.clock.now += 4
            line.arrive("new later")
            line.clock.now += 7  # more than the ten seconds that "busy" has had
            line.arrive("too late")
    assert line.order == ["new", "new later", "busy", "too late"]


def test_what_an_owner_has_had_is_forgotten_with_time() -> None:
    with ThreadPoolExecutor(9) as pool:
        line = _Line(pool)
        line.use("busy", 10)
        line.clock.now += 10 * gate_module.HALF_LIFE
        line._name = "inside"
        with line.gate.enter():
            line.arrive("busy")
            line.clock.now += 0.1
            line.arrive("new")
    assert line.order == ["busy", "new"]


def test_short_runs_pass_long_ones() -> None:
    with ThreadPoolExecutor(9) as pool:
        line = _Line(pool)
        with line.gate.enter():
            line.arrive("long", 60)
            line.arrive("short", 0.1)
            line.arrive("middle", 5)
    assert line.order == ["short", "middle", "long"]


def test_who_waits_reads_its_place_and_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "TICK", 0.01)
    places, everybody = dict[str, Place](), Event()

    def tell(place: Place) -> None:
        places[f"{place.number}"] = place
        if {"1", "2"} <= places.keys():
            everybody.set()

    with ThreadPoolExecutor(9) as pool:
        line = _Line(pool, tell)
        line._name = "inside"
        with line.gate.enter(8.0):
            line.clock.now += 3
            line.arrive("first", 2.0)
            line.arrive("second", 4.0)
            assert everybody.wait(10)
    assert places["1"].seconds == pytest.approx(5)  # what is left of eight
    assert places["2"].seconds == pytest.approx(5 + 2)


def test_estimates_follow_what_runs_have_taken() -> None:
    """As on a machine three times as slow as estimated."""
    with ThreadPoolExecutor(1) as pool:
        line = _Line(pool)
        for _ in range(50):
            with line.gate.enter(1.0):
                line.clock.now += 3
    assert line.gate._expected(2.0) == pytest.approx(6, rel=0.02)


@pytest.mark.parametrize(
    ("number", "seconds", "said"),
    [(1, 0.2, "1st in line, about 1 s"), (3, 4.4, "3rd in line, about 4 s"), (12, 61, "12th in line, about 61 s")],
)
def test_a_place_is_told_in_words(number: int, seconds: float, said: str) -> None:
    notes = list[str]()
    with passes.heard_by(lambda done, total, note: notes.append(note)):
        passes.tell_place(Place(number, seconds))
    assert notes == [said]


class _Ended(BaseException):
    """What Streamlit raises in a script's run that is to end."""


def test_who_gives_up_leaves_the_line_and_its_place_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "TICK", 0.01)

    def tell(place: Place) -> None:
        raise _Ended

    gate = Gate(1, 1, tell)
    with gate.enter(), ThreadPoolExecutor(1) as pool, pytest.raises(_Ended):
        pool.submit(gate.enter().__enter__).result(10)
    assert (gate.n_waiting, gate.n_running) == (0, 0)


def test_no_place_is_lost_where_threads_give_up_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many come at once, and half of them give up as soon as they have to wait."""
    monkeypatch.setattr(gate_module, "TICK", 0.001)
    start, most = Barrier(16), list[int]()

    def tell(place: Place) -> None:
        if place.number % 2:
            raise _Ended

    gate = Gate(2, 1000, tell)

    def come(_: int) -> None:
        start.wait()
        for _ in range(20):
            with suppress(_Ended), gate.enter():
                most.append(gate.n_running)
                Event().wait(0.0005)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(come, range(16)))
    assert max(most) == 2
    assert (gate.n_waiting, gate.n_running) == (0, 0)


class _Turns:
    """A gate of one place whose requests are numbers, their size, and the batches in which they were doubled."""

    def __init__(self, pool: ThreadPoolExecutor, tell: Callable[[Place], None] = lambda place: None) -> None:
        self.gate, self.batches, self._pool = Gate(1, 100, tell), list[list[int]](), pool

    def double(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        return [2 * number for number in numbers]

    def request(self, group: str, *numbers: int) -> "list[Future[int]]":
        """Put requests into the line, in this order."""
        answers = []
        for number in numbers:
            n_waiting = self.gate.n_waiting
            answers.append(self._pool.submit(self.gate.share, group, number, number, self.double))
            while self.gate.n_waiting == n_waiting:
                pass
        return answers


def test_those_of_a_group_that_wait_are_computed_in_the_turn_of_the_first() -> None:
    with ThreadPoolExecutor(9) as pool:
        turns = _Turns(pool)
        with turns.gate.enter():
            answers = [*turns.request("a", 1), *turns.request("b", 5), *turns.request("a", 2, 3)]
        assert [answer.result(10) for answer in answers] == [2, 10, 4, 6]
    assert turns.batches == [[1, 2, 3], [5]]
    assert (turns.gate.n_waiting, turns.gate.n_running) == (0, 0)


def test_a_request_that_finds_nobody_in_line_is_computed_at_once_and_alone() -> None:
    with ThreadPoolExecutor(1) as pool:
        turns = _Turns(pool)
        assert turns.gate.share("a", 3, 3, turns.double) == 6
        with turns.gate.enter():  # nor does a thread wait that has a place
            assert turns.gate.share("a", 4, 4, turns.double) == 8
    assert turns.batches == [[3], [4]]


def test_a_turn_takes_the_nearest_sizes_and_no_more_than_fit() -> None:
    long, n = gate_module.MAX_SIZE_TOGETHER // 2, gate_module.MAX_TOGETHER
    with ThreadPoolExecutor(20) as pool:
        turns = _Turns(pool)
        with turns.gate.enter():
            answers = turns.request("a", 10, long, *range(20, 20 + n), 11, long + 1)
        assert [answer.result(10) for answer in answers[:2]] == [20, 2 * long]
    assert turns.batches[0] == [10, 11, *range(20, 20 + n - 2)]
    assert sorted(number for batch in turns.batches for number in batch) == sorted(
        [10, 11, long, long + 1, *range(20, 20 + n)]
    )
    assert all(len(batch) * max(batch) <= gate_module.MAX_SIZE_TOGETHER for batch in turns.batches)


def test_where_the_first_is_broken_off_the_others_go_on_without_it() -> None:
    with ThreadPoolExecutor(9) as pool:
        turns = _Turns(pool)

        def broken(numbers: Sequence[int]) -> list[int]:
            turns.batches.append(list(numbers))
            raise _Ended

        with turns.gate.enter():
            first = pool.submit(turns.gate.share, "a", 1, 1, broken)
            while not turns.gate.n_waiting:
                pass
            others = turns.request("a", 2, 3)
        with pytest.raises(_Ended):
            first.result(10)
        assert [other.result(10) for other in others] == [4, 6]
    assert turns.batches == [[1, 2, 3], [2, 3]]
    assert (turns.gate.n_waiting, turns.gate.n_running) == (0, 0)


def test_no_value_is_lost_or_mixed_up_where_threads_give_up_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some give up while they wait, others while they compute for all."""
    monkeypatch.setattr(gate_module, "TICK", 0.001)
    start, is_giving_up, done = Barrier(16), local(), list[int]()

    def tell(place: Place) -> None:
        if getattr(is_giving_up, "now", False):
            raise _Ended

    gate = Gate(2, 1000, tell)

    def come(thread: int) -> None:
        start.wait()
        for number in range(20):
            request = 100 * thread + number

            def double(requests: Sequence[int], number: int = number) -> list[int]:
                Event().wait(0.0005)
                if number % 5 == 3:
                    raise _Ended
                return [2 * each for each in requests]

            is_giving_up.now = number % 5 == 1
            with suppress(_Ended):
                assert gate.share("a", 1, request, double) == 2 * request
                done.append(request)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(come, range(16)))
    assert len(done) >= 16 * 12  # three of five never give up
    assert (gate.n_waiting, gate.n_running) == (0, 0)
