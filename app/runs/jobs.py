"""Long work in slices that leave the page free to be used, and to be stopped, in between.

The session holds the names of what is still to be done, never what comes of it: that is in the cache of runs.
"""

import time
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from headlight.app.runs.limits import BusyError
from headlight.model.base.errors import HeadlightError

MAX_REFUSED = 10_000  # the last ones, whose reasons a session keeps
SLICE_SECONDS = 0.5  # so long, and one job longer at most, until a click is heard
TRUSTED = 0.05  # of the whole estimate counts as if it were measured: the first jobs may be short, and say little
Cost = Callable[[Any], float]
"""Estimated seconds of a job."""


@dataclass
class Jobs:
    """The jobs of a session.

    `waiting` are the jobs still to be done; `refused` says why others cannot be; `halted` says why the work came to an
    end before it was through, `stopped` that the user ended it; `spent` are the seconds that it has taken so far.
    `batch` are all jobs that were started since the page last had nothing to do. `costs` are the estimated
    seconds of those started, where one takes longer than another.
    """

    waiting: tuple[Any, ...] = ()
    batch: frozenset[Any] = frozenset()
    total: int = 0
    refused: dict[Hashable, str] = field(default_factory=dict)
    halted: str = ""
    stopped: bool = False
    spent: float = 0.0
    costs: dict[Hashable, float] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Number of jobs that are done or refused."""
        return self.total - len(self.waiting)

    @property
    def seconds_left(self) -> float | None:
        """Remaining seconds: by estimate, corrected by the pace; without one by the pace, None before a job is done."""
        if not self.costs:
            return self.spent / self.done * len(self.waiting) if self.done else None
        total, left = sum(self.costs.values()), sum(self.costs[job] for job in self.waiting)
        return left * (self.spent + TRUSTED * total) / (total - left + TRUSTED * total) if left else 0.0

    def keep_to(self, wanted: Collection[Hashable]) -> None:
        """Drop waiting jobs that are no longer needed."""
        if self.waiting and self.waiting[-1] not in wanted:
            self.start(())

    def start(self, wanted: Sequence[Hashable], cost: Cost | None = None) -> None:
        """Start these jobs, each once, except those that were refused before."""
        self.waiting = tuple(job for job in dict.fromkeys(wanted) if job not in self.refused)
        self.costs = {job: cost(job) for job in self.waiting} if cost else {}
        self.batch = self.batch.union(self.waiting) if wanted else frozenset()
        self.total, self.halted, self.stopped, self.spent = len(self.waiting), "", False, 0.0

    def stop(self) -> None:
        """Stop; finished jobs stay."""
        self.waiting, self.batch, self.stopped = (), frozenset(), True

    def halt_if_lost(self, missing: Collection[Hashable]) -> bool:
        """Stop where a finished job's result was evicted, because the cache is too small: the work would never end.

        Returns whether it came to a halt by this.
        """
        if self.waiting or self.halted or not self.batch.difference(self.refused).intersection(missing):
            return False
        self.halted = (
            "The result cache is too small for this page: the first results are evicted before the last are done. "
            "Choose fewer heads or prompts, or start the server with a larger --cache-gib."
        )
        return True

    def settle(self) -> None:
        """Note that the page was drawn with nothing waiting: later gaps are not the fault of this work."""
        self.batch = frozenset()

    def step(self, do: Callable[[Any], object]) -> None:
        """Do waiting jobs for one slice of time; failures are recorded, and the rest goes on.

        A job that is broken off, as by a click while it waits for another session's run, is still waiting afterwards.
        """
        spent, begun = self.spent, time.monotonic()
        while self.waiting:
            job = self.waiting[0]
            try:
                do(job)
            except BusyError as error:
                self.waiting, self.batch, self.halted = (), frozenset(), str(error)
                return
            except HeadlightError as error:
                self._refuse(job, str(error))
            self.waiting = self.waiting[1:]  # of none, if it was stopped meanwhile
            self.spent = spent + time.monotonic() - begun
            if self.spent - spent >= SLICE_SECONDS:
                return

    def _refuse(self, job: Hashable, reason: str) -> None:
        self.refused[job] = reason
        if len(self.refused) > MAX_REFUSED:
            del self.refused[next(iter(self.refused))]


def get_jobs(name: str) -> Jobs:
    """The session's jobs of one kind."""
    return st.session_state.setdefault(f"jobs.{name}", Jobs())
