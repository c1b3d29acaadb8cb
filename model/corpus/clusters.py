"""Shards computed on a cluster by Ray Data: actors that hold the model, a shard each at a time.

Needs requirements-ray.txt. What the actors give goes through the same files and merges as that of processes.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from headlight.model.corpus.shard import Job, Worker
from headlight.model.errors import ConfigError

# Jobs for each actor that are handed over together. With the next ones actors open the model anew, so that they become
# more; but each knows only what was found when it was handed over, so that the first are few.
FIRST, MOST = 16, 512
MOST_TEXT = 2**27  # characters that are handed over together
IN_FLIGHT = 2  # jobs that an actor has at hand, so that none waits for one while another has many


class Ray:
    """Actors on a cluster of Ray, or on one that is started on this machine."""

    def __init__(self, worker: Worker, count: int, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported
        try:
            import ray
        except ImportError as error:
            raise ConfigError("The engine ray needs it installed: pip install -r requirements-ray.txt.") from error
        self._ray, self._worker, self._count = ray, worker, count
        here: dict[str, Any] = {} if address else {"num_cpus": count, "include_dashboard": False}
        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False, logging_level=logging.ERROR, **here)
        ray.data.DataContext.get_current().enable_progress_bars = False

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, bytes]]:
        """What each job gives, as it comes."""
        waiting, each = iter(jobs), FIRST
        while some := _some(waiting, self._count * each):
            each = min(2 * each, MOST)
            data = self._ray.data.from_items([{"job": job} for job in some], override_num_blocks=len(some))
            done = data.map_batches(
                _Actor,
                batch_size=1,
                compute=self._ray.data.ActorPoolStrategy(size=self._count, max_tasks_in_flight_per_actor=IN_FLIGHT),
                fn_constructor_args=(self._worker,),
                num_gpus=1 if self._worker.on_gpu else 0,
            )
            for row in done.iter_rows():
                yield int(row["number"]), row["found"]

    def close(self) -> None:
        """Let the actors go."""
        self._ray.shutdown()


def _some(jobs: Iterator[Job], most: int) -> list[Job]:
    """The next jobs: at most so many, and no more than there is room for their texts."""
    found, room = list[Job](), MOST_TEXT
    for job in islice(jobs, most):
        found.append(job)
        room -= sum(len(document.text or "") for document in job.documents)
        if room < 0:
            break
    return found


class _Actor:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        jobs: list[Job] = list(rows["job"])
        found = np.empty(len(jobs), dtype=object)
        found[:] = [self._worker(job) for job in jobs]
        return {"number": np.array([job.number for job in jobs]), "found": found}
