"""Engines that compute the shards: this process, several processes, or a cluster (`clusters`)."""

import multiprocessing
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import connection
from typing import Any, Protocol, runtime_checkable

from headlight.model.base.allocator import reuse_freed_memory
from headlight.model.base.errors import ScanError

Done = tuple[int, bytes]  # a shard's number, and what it gave
AHEAD = 2  # jobs for each worker that wait beside the one under way


@runtime_checkable
class Job(Protocol):
    """One part of the work, which a worker computes by itself."""

    @property
    def number(self) -> int:
        """Its number among all."""


@runtime_checkable
class Worker(Protocol):
    """Computes jobs; it can be sent to another process."""

    @property
    def on_gpu(self) -> bool:
        """Whether it needs a GPU of its own."""

    def __call__(self, job: Any) -> bytes:
        """What a job gives, serialised."""


@runtime_checkable
class Engine(Protocol):
    """Computes jobs, in any order, and takes no more of them than it needs to keep its workers busy."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Done]:
        """Yield each job's result as it arrives."""

    def close(self) -> None:
        """Let the workers go."""


class Here:
    """One job after the other in this process."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def run(self, jobs: Iterable[Job]) -> Iterator[Done]:
        """Yield each job's result."""
        return ((job.number, self._worker(job)) for job in jobs)

    def close(self) -> None:
        """Nothing has to be released."""


class Processes:
    """Several processes of this machine, each with the model open and one thread."""

    def __init__(self, worker: Worker, count: int) -> None:
        context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
        self._pool = ProcessPoolExecutor(count, context, initializer=_begin, initargs=(worker,))
        self._most = count * (1 + AHEAD)

    def run(self, jobs: Iterable[Job]) -> Iterator[Done]:
        """Yield each job's result as it arrives."""
        waiting, under_way = iter(jobs), set[Future[Done]]()
        try:
            while True:
                under_way |= {self._pool.submit(_compute, job) for job in islice(waiting, self._most - len(under_way))}
                if not under_way:
                    return
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in finished)
        except BrokenProcessPool as error:
            raise ScanError(
                "A worker was ended from outside, perhaps for want of memory. Nothing that was finished is lost: give "
                "the same command again, perhaps with fewer --workers or a smaller --batch."
            ) from error
        finally:
            for each in under_way:
                each.cancel()

    def close(self) -> None:
        """Let the workers go, whatever they are at."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in list((self._pool._processes or {}).values()):
            process.terminate()


_worker: Worker | None = None


def _begin(worker: Worker) -> None:
    global _worker
    _worker = worker
    reuse_freed_memory()
    parent = multiprocessing.parent_process()
    assert parent is not None  # this is a worker
    # It does not outlive a scan that was killed: nobody would take what it computes, and its model stays in memory.
    threading.Thread(target=lambda: connection.wait([parent.sentinel]) and os._exit(1), daemon=True).start()


def _compute(job: Job) -> Done:
    assert _worker is not None  # every process begins with one
    return job.number, _worker(job)
