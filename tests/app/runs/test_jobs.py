"""Long work in slices: what is waiting, how long it still takes, and when nobody wants it any more."""

import pytest

from headlight.app.runs import jobs
from headlight.app.runs.jobs import Jobs
from headlight.model.base.errors import InputError


def test_what_is_left_is_told_by_the_pace_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(jobs.time, "monotonic", lambda: clock[0])

    def do(job: int) -> None:
        clock[0] += 2.0

    work = Jobs()
    work.start(range(4))
    assert work.seconds_left is None
    work.step(do)
    clock[0] += 100.0  # between the slices the page is drawn
    work.step(do)
    assert (work.done, work.seconds_left) == (2, 4.0)
    work.start([7, 8])
    assert work.seconds_left is None
    work.start([0, 40, 60], cost=float)
    assert work.seconds_left == 100.0
    work.step(do)  # takes two seconds, of which the estimate knew nothing
    assert work.seconds_left == pytest.approx(100 * (2 + 5) / 5)
    work.step(do)
    assert work.seconds_left == pytest.approx(60 * (4 + 5) / (40 + 5))


def test_a_stopped_work_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0.0)
    did: list[int] = []
    work = Jobs()
    work.start(range(3))
    work.step(did.append)
    work.stop()
    assert (work.stopped, work.waiting) == (True, ())
    work.start([job for job in range(3) if job not in did])
    while work.waiting:
        work.step(did.append)
    assert did == [0, 1, 2]
    assert not work.stopped


def test_work_that_is_no_longer_wanted_is_let_go() -> None:
    work = Jobs()
    work.start(["a0", "a1"])
    work.keep_to(["a0", "a1", "a2"])
    assert work.waiting
    work.keep_to(["b0", "b1"])
    assert not work.waiting
    assert not work.stopped


def test_work_whose_results_do_not_stay_is_halted_and_not_done_again_and_again() -> None:
    work, cached = Jobs(), list[int]()

    def do(job: int) -> None:
        if job == 3:
            raise InputError("not three")
        cached[:] = [job]  # which pushes out the one before

    work.start(range(4))
    while work.waiting:
        work.step(do)
    work.halt_if_lost([3])  # refused, which says enough
    assert not work.halted
    work.start(range(3))
    while work.waiting:
        work.halt_if_lost([0, 1, 2])  # still at it
        work.step(do)
    assert not work.halted
    work.halt_if_lost([job for job in range(3) if job not in cached])
    assert "larger --cache-gib" in work.halted
    work.start([0, 1])
    work.stop()
    work.halt_if_lost([0, 1])
    assert not work.halted


def test_a_job_that_is_broken_off_is_still_to_be_done() -> None:
    def end(job: int) -> None:
        raise KeyboardInterrupt

    work = Jobs()
    work.start([1, 2])
    with pytest.raises(KeyboardInterrupt):
        work.step(end)
    assert work.waiting == (1, 2)


def test_a_session_keeps_so_many_reasons_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_REFUSED", 3)

    def refuse(job: int) -> None:
        raise InputError(f"not {job}")

    work = Jobs()
    work.start(range(10))
    while work.waiting:
        work.step(refuse)
    assert work.refused == {job: f"not {job}" for job in (7, 8, 9)}


def test_work_of_two_kinds_that_push_each_other_out_is_halted() -> None:
    work, started = Jobs(), 0
    for missing in (["look"], ["ablate"]) * 3:  # each is done, and missing again once the other is
        work.halt_if_lost(missing)
        if not work.halted:
            work.start(missing)
            started += 1
            work.step(lambda job: None)
    assert started == 2
    work.settle()
    work.start(["look"])
    assert not work.halted
    work.halt_if_lost(["ablate"])  # done long ago, and nothing that this work has pushed out
    assert not work.halted
