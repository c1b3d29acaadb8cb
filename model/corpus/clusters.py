"""Shards computed on a cluster by Ray Data: actors that hold the model, a shard each at a time.

Needs the extra `ray`. What the actors give goes through the same files and merges as that of processes.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from headlight.model.base.errors import ConfigError
from headlight.model.corpus.engines import AHEAD, Job, Worker


class Ray:
    """Actors on a cluster of Ray, or on one that is started on this machine."""

    def __init__(self, worker: Worker, count: int, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported
        try:
            import ray
            from ray.util.queue import Queue
        except ImportError as error:
            raise ConfigError("The engine ray needs it installed: pip install 'headlight[ray]'.") from error
        self._ray, self._queue, self._worker, self._count = ray, Queue, worker, count
        here: dict[str, Any] = {} if address else {"num_cpus": count, "include_dashboard": False}
        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False, logging_level=logging.ERROR, **here)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.target_max_block_size = 1  # byte: what a shard gave comes at once, and does not wait for others

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, bytes]]:
        """Yield each job's result as it finishes; actors live as long as there are jobs, taken from a queue."""
        queue, ahead = self._queue(actor_options={"num_cpus": 0}), chain(jobs, repeat(None))
        queue.put_nowait_batch(list(islice(ahead, self._count * (1 + AHEAD))))
        taken = self._ray.data.from_items([{"queue": queue}]).map_batches(_taken, num_cpus=0)
        done = taken.map_batches(
            _Actor,
            batch_size=1,
            compute=self._ray.data.ActorPoolStrategy(size=self._count, max_tasks_in_flight_per_actor=1 + AHEAD),
            fn_constructor_args=(self._worker,),
            num_gpus=1 if self._worker.on_gpu else 0,
        )
        try:
            for row in done.iter_rows():
                queue.put_nowait_batch(list(islice(ahead, 1)))
                yield int(row["number"]), row["results"]
        finally:
            queue.shutdown(force=True)

    def close(self) -> None:
        """Let the actors go."""
        self._ray.shutdown()


def _taken(rows: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each job that the queue has, until it has None: as many are on their way as were put into it."""
    while (job := rows["queue"][0].get()) is not None:
        yield {"job": _one(job)}


class _Actor:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        (job,) = rows["job"]
        return {"number": np.array([job.number]), "results": _one(self._worker(job))}


def _one(thing: Any) -> Any:
    """A column of one row."""
    column = np.empty(1, dtype=object)
    column[0] = thing
    return column
