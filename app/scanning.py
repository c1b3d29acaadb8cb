"""Scan by the command: its progress bar, its cost, and its workers."""

import multiprocessing
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic

from tqdm import tqdm

from headlight.model.base.errors import InputError
from headlight.model.checkpoints.loading import load
from headlight.model.corpus.documents import Corpus, open_corpus
from headlight.model.corpus.engines import Engine, Here, Processes, Worker
from headlight.model.corpus.figures import estimate
from headlight.model.corpus.folder import empty
from headlight.model.corpus.scan import Progress, Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker as ShardWorker

SCANS = Path("scans")


def scan(flags: Namespace, settings: ScanSettings) -> Path:
    """Scan the rest of a corpus, and return the folder.

    Raises:
        HeadlightError: a model, corpus or engine is missing or does not work.
    """
    corpus = open_corpus(flags.corpus, flags.column, flags.split)
    model = load(flags.model, flags.revision, dtype=settings.dtype)
    folder: Path = flags.out or SCANS / Path(flags.model).name / Path(corpus.name).name
    corpus_scan = Scan(model, corpus, settings, folder)
    if flags.restart:
        corpus.count(1)  # says what is wrong with the corpus before anything is removed
        empty(folder)
    if corpus_scan.is_complete:
        print("This scan was finished before; --restart makes it again.")
        return folder
    worker = ShardWorker(str(model.source.path) if model.source else flags.model, settings)
    with closing(engine(flags, worker)) as workers, _bar(corpus, settings) as bar:
        cost = Cost(flags.workers, settings.shard, bar.total)

        def watch(progress: Progress) -> None:
            if said := cost.line_for(progress):
                bar.write(said, file=sys.stderr)
            _show(bar, progress, settings.warmup)

        corpus_scan.run(workers, watch)
    return folder


class Cost:
    """Cost of a scan: a first guess from the first shard, and an estimate once every worker has done another.

    Models are opened in a worker's first shard, or in the warm-up.
    """

    def __init__(self, workers: int, shard: int, total: float | None) -> None:
        self._workers, self._at_once, self._total = workers, shard * workers, total
        self._began, self._first, self._told = monotonic(), (0.0, 0), 0

    def line_for(self, progress: Progress) -> str:
        """Line to print, each of the two once; else empty."""
        if progress.calibrating is not None:
            self._began = monotonic()
        elif self._told == 0 and progress.fresh:
            self._told, self._first = 1, (monotonic(), progress.fresh)
            # All workers are about as far as the one whose shard came first.
            return self._said("Roughly, by the first shard:", progress, max(self._at_once, progress.fresh), self._began)
        elif self._told == 1 and progress.fresh - self._first[1] >= self._at_once:
            self._told = 2
            return self._said("About", progress, progress.fresh - self._first[1], self._first[0])
        return ""

    def _said(self, how: str, progress: Progress, done: int, since: float) -> str:
        rate = done / max(monotonic() - since, 1e-3)
        gib = sum(map(_resident, [None, *multiprocessing.active_children()])) / 2**30
        said = f"{how} {rate:,.3g} documents a second, {gib:.2g} GiB of memory with {self._workers} worker"
        left = "" if self._total is None else f", {spelled((self._total - progress.documents) / rate)} to go"
        return f"{said}{'' if self._workers == 1 else 's'}{left}."


def _resident(process: BaseProcess | None) -> int:
    """Bytes of memory that a process, or this one, has; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process.pid if process else 'self'}/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def spelled(seconds: float) -> str:
    """A time as it is said."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def engine(flags: Namespace, worker: Worker) -> Engine:
    """Who computes, by the flags.

    Raises:
        HeadlightError: no workers, or Ray is not installed.
    """
    if flags.workers < 1:
        raise InputError(f"--workers is {flags.workers}; there has to be at least 1.")
    if flags.engine == "ray":
        from headlight.model.corpus.clusters import Ray

        return Ray(worker, flags.workers, flags.ray_address)
    return Here(worker) if flags.workers == 1 else Processes(worker, flags.workers)


@contextmanager
def _bar(corpus: Corpus, settings: ScanSettings) -> Iterator[tqdm]:
    total = corpus.count(settings.documents or None)
    with tqdm(total=total, unit="document", disable=None, file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar


def _show(bar: tqdm, progress: Progress, warmup: int) -> None:
    """Print the progress, and the strongest head of the best-known score so far."""
    if progress.calibrating is not None:
        bar.set_postfix_str(f"calibrating: {progress.calibrating} of {warmup} sequences")
        return
    if bar.n == 0:  # what was finished before says nothing about the rate
        bar.initial = bar.n = max(progress.documents - progress.fresh, 0)
    bar.update(progress.documents - bar.n)
    scores = estimate(progress.results.moments, "induction_score").values
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    summary = f"{progress.results.counts['tokens']:,} tokens, induction L{layer}H{head} {scores[layer, head]:.2f}"
    skipped = progress.results.counts["skipped"]
    bar.set_postfix_str(f"{summary}, {skipped} skipped" if skipped else summary)
