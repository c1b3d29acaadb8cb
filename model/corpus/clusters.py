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

EACH = 32  # jobs for each actor that are handed over together; for the next ones actors open the model anew


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
        waiting = iter(jobs)
        while some := list(islice(waiting, self._count * EACH)):
            data = self._ray.data.from_items([{"job": job} for job in some], override_num_blocks=len(some))
            done = data.map_batches(
                _Actor,
                batch_size=1,
                compute=self._ray.data.ActorPoolStrategy(size=self._count),
                fn_constructor_args=(self._worker,),
                num_gpus=1 if self._worker.on_gpu else 0,
            )
            for row in done.iter_rows():
                yield int(row["number"]), row["found"]

    def close(self) -> None:
        """Let the actors go."""
        self._ray.shutdown()


class _Actor:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        jobs: list[Job] = list(rows["job"])
        found = np.empty(len(jobs), dtype=object)
        found[:] = [self._worker(job) for job in jobs]
        return {"number": np.array([job.number for job in jobs]), "found": found}
