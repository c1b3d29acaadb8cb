"""The command that finds out what every head does over a corpus: `python -m headlight.app.scan`, `make scan`."""

import multiprocessing
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Any

from tqdm import tqdm

from headlight.model.corpus.documents import Corpus, open_corpus
from headlight.model.corpus.engines import Engine, Here, Processes
from headlight.model.corpus.figures import estimate
from headlight.model.corpus.scan import Progress, Scan
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.errors import HeadlightError, InputError
from headlight.model.loading import load

SCANS = Path("scans")
STOPPED = 130  # what a shell gives for a command that was interrupted

DESCRIPTION = """Find out what every attention head does over a whole corpus.

The folder that is written is a tree of HeadVis's files, which the page *Corpus* opens. Given again after it
was stopped, however that was, the command goes on where it had been; what it writes is the same to the byte, whatever
the engine and the number of workers."""


def parser() -> ArgumentParser:
    """The flags, with what `--help` says of each."""
    made = ArgumentParser("scan", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    made.add_argument("model", help="a model's name, folder, file or hub name")
    made.add_argument("corpus", help="text, .jsonl, .csv, .tsv, .parquet; a folder of these; a hub name as owner/name")
    made.add_argument("--out", type=Path, help=f"the folder to write (default: {SCANS}/MODEL/CORPUS)")
    made.add_argument("--column", default="text", help="the column with the text, in a table (default: text)")
    made.add_argument("--split", default="train", help="the part of a data set of the hub (default: train)")
    made.add_argument("--revision", help="a branch, tag or commit of a model of the hub")
    made.add_argument("--engine", choices=("processes", "ray"), default="processes", help="who computes the shards")
    made.add_argument("--workers", type=int, default=1, help="how many, with one thread each (default: 1)")
    made.add_argument("--ray-address", help="the cluster to compute on; without it Ray starts one on this machine")
    made.add_argument("--restart", action="store_true", help="forget what is there, finished or not, and begin anew")
    for each in fields(ScanSettings):
        kind: Any = type(each.default)
        about: dict[str, Any] = {
            "default": each.default,
            "help": f"{each.metadata['meaning']} (default: {each.default})",
        }
        if each.default is False:
            made.add_argument(_flag(each.name), action="store_true", help=each.metadata["meaning"])
            continue
        allowed = (0, 1) if kind is bool else each.metadata.get("one_of")
        made.add_argument(_flag(each.name), type=int if kind is bool else kind, choices=allowed, **about)
    return made


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Scan as the flags say, and give what the shell is told."""
    given = parser().parse_args(arguments)
    try:
        folder = scan(given)
    except HeadlightError as error:
        print(f"The scan cannot go on. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return STOPPED
    print(f"The scan is in {folder}: the page Corpus opens it.")
    return 0


def scan(given: Namespace) -> Path:
    """Scan what is left of a corpus.

    Raises:
        HeadlightError: something that was asked for there is not, or cannot be done.
    """
    chosen = {each.name: getattr(given, each.name) for each in fields(ScanSettings)}
    chosen["bos"] = bool(chosen["bos"])
    settings, corpus = ScanSettings(**chosen), open_corpus(given.corpus, given.column, given.split)
    model = load(given.model, given.revision, dtype=settings.dtype)
    folder: Path = given.out or SCANS / Path(given.model).name / Path(corpus.name).name
    if given.restart:
        shutil.rmtree(folder, ignore_errors=True)
    found = Scan(model, corpus, settings, folder)
    if found.is_complete:
        print("This scan was finished before; --restart makes it again.")
        return folder
    worker = Worker(str(model.source.path) if model.source else given.model, settings)
    with closing(_engine(given, worker)) as engine, _bar(corpus, settings) as bar:
        cost = Cost(given.workers, settings.shard, bar.total)

        def watch(progress: Progress) -> None:
            if said := cost.of(progress):
                bar.write(said, file=sys.stderr)
            _show(bar, progress)

        found.run(engine, watch)
    return folder


class Cost:
    """What a scan will take, told once every worker has done a shard beside the first, in which models were opened."""

    def __init__(self, workers: int, shard: int, total: float | None) -> None:
        self._workers, self._shard, self._total = workers, shard, total
        self._first: tuple[float, int] | None = None
        self._told = False

    def of(self, progress: Progress) -> str:
        """The estimate in a sentence, once; nothing before it is known, and afterwards."""
        if progress.warming is not None or self._told:
            return ""
        began, before = self._first = self._first or (monotonic(), progress.fresh)
        if progress.fresh - before < self._shard * self._workers:
            return ""
        self._told, rate = True, (progress.fresh - before) / max(monotonic() - began, 1e-3)
        gib = sum(map(_resident, [None, *multiprocessing.active_children()])) / 2**30
        said = f"About {rate:,.3g} documents a second, {gib:.2g} GiB of memory with {self._workers} worker"
        left = "" if self._total is None else f", {_spelled((self._total - progress.documents) / rate)} to go"
        return f"{said}{'' if self._workers == 1 else 's'}{left}."


def _resident(process: BaseProcess | None) -> int:
    """Bytes of memory that a process, or this one, has; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process.pid if process else 'self'}/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _spelled(seconds: float) -> str:
    """A time as it is said."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def _engine(given: Namespace, worker: Worker) -> Engine:
    if given.workers < 1:
        raise InputError(f"--workers is {given.workers}; there has to be at least 1.")
    if given.engine == "ray":
        from headlight.model.corpus.clusters import Ray

        return Ray(worker, given.workers, given.ray_address)
    return Here(worker) if given.workers == 1 else Processes(worker, given.workers)


@contextmanager
def _bar(corpus: Corpus, settings: ScanSettings) -> Iterator[tqdm]:
    total = corpus.count(settings.documents or None)
    with tqdm(total=total, unit="document", disable=None, file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar


def _show(bar: tqdm, progress: Progress) -> None:
    """How far it is, and the strongest head of what is known best so far."""
    if progress.warming is not None:
        bar.set_postfix_str(f"warming up: {progress.warming} sequences")
        return
    if bar.n == 0:  # what was finished before says nothing about the rate
        bar.initial = bar.n = max(progress.documents - progress.fresh, 0)
    bar.update(progress.documents - bar.n)
    scores = estimate(progress.found.moments, "induction_score").value
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    found = f"{progress.found.counts['tokens']:,} tokens, induction L{layer}H{head} {scores[layer, head]:.2f}"
    skipped = progress.found.counts["skipped"]
    bar.set_postfix_str(f"{found}, {skipped} skipped" if skipped else found)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
