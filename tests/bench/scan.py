"""How fast a corpus is scanned, by one worker and two of each engine, beside a loop over transformers (`bench-scan`).

Rates are those of the second half, when everything is open and most buckets are full, as in a long scan. No head is
ablated, which the loop does not do either. The loop adds up figures alone: HeadVis's six, and all eleven of a scan,
one document after the other, as such loops are mostly written, and in the scan's own batches.

What one thread of this process does is also given by the processor's time, which what else the machine does changes
little; by that the scan stands beside the loop.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice, product
from pathlib import Path

import torch

from headlight.model import load
from headlight.model.analysis.detectors import is_punctuation
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Engine, Here, Processes
from headlight.model.corpus.scan import Progress, Scan
from headlight.model.corpus.sequences import Batch, batch, batches, cut
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.run import tokenizer_of
from headlight.model.training.recipes.scans import held_out
from headlight.model.transformer import Transformer
from tests.bench.loop import Loop
from tests.places import MINI

SETTINGS = ScanSettings(length=256, ablate=0, warmup=32)
GPT2 = "GPT-2-small's shape"  # random weights: what a scan costs does not depend on them
LOOPS = {"one document after the other": False, "in the scan's batches": True}
FIGURES = {"all eleven": False, "HeadVis's six": True}
DOCUMENTS = {"mini": 640, "mini-llama": 640, GPT2: 96}


def _ray(worker: Worker, count: int) -> Engine:
    from headlight.model.corpus.clusters import Ray

    return Ray(worker, count)


ENGINES: dict[str, Callable[[Worker, int], Engine]] = {
    "processes": lambda worker, count: Here(worker) if count == 1 else Processes(worker, count),
    "ray": _ray,
}


def scanned(model: str, corpus: Path, engine: str, workers: int) -> tuple[float, float]:
    """Documents a second: by the clock, and of this process's processor time."""
    times: list[tuple[float, float, int]] = []

    def note(progress: Progress) -> None:
        if progress.warming is None:
            times.append((time.perf_counter(), time.process_time(), progress.documents))

    made = ENGINES[engine](Worker(model, SETTINGS), workers)
    with tempfile.TemporaryDirectory() as folder:
        Scan(load(model), open_corpus(str(corpus)), SETTINGS, Path(folder)).run(made, note)
    made.close()
    (began, began_own, before), (ended, ended_own, after) = times[len(times) // 2], times[-1]
    return (after - before) / (ended - began), (after - before) / (ended_own - began_own)


def looped(model: str, corpus: Path, only_six: bool, batched: bool) -> float:
    """Documents a second of the processor of a plain loop over transformers with all attentions."""
    own = load(model)
    assert own.source is not None
    tokenizer = tokenizer_of(own)
    loop = Loop(str(own.source.path), cache(lambda token: is_punctuation(tokenizer.to_string(token))), only_six)
    count, began = open_corpus(str(corpus)).count(None) or 1, time.process_time()
    for each in _batches(own, corpus, batched):
        loop.add(each)
    return count / (time.process_time() - began)


def _batches(model: Transformer, corpus: Path, batched: bool) -> Iterator[Batch]:
    documents = open_corpus(str(corpus)).documents()
    while some := list(islice(documents, SETTINGS.shard)):
        tokens = [(each.index, model.to_tokens(each.text or "")[0].tolist()) for each in some]
        rows = [each for index, row in tokens for each in cut(index, "", row, SETTINGS.length, None)]
        yield from batches(rows, SETTINGS.n_at_once(model.cfg.n_ctx)) if batched else (batch([row]) for row in rows)


def table(name: str, model: str, corpus: Path, engines: list[str]) -> None:
    """Print a model's rows."""
    _, alone = scanned(model, corpus, "processes", 1)
    for engine in engines:
        one, two = (scanned(model, corpus, engine, workers)[0] for workers in (1, 2))
        print(f"| {name} | {engine}, 1 worker | {one:.1f} | |", flush=True)
        print(f"| {name} | {engine}, 2 workers | {two:.1f} | {two / one / 2:.2f} of linear |", flush=True)
    print(f"| {name} | 1 thread, by the processor's time | {alone:.1f} | |", flush=True)
    if load(model).cfg.positional_embedding_type == "standard":  # the loop is written for GPT-2
        for (how, batched), (what, only_six) in product(LOOPS.items(), FIGURES.items()):
            rate = looped(model, corpus, only_six, batched)
            told = f"the scan is {alone / rate:.2f} times as fast"
            print(f"| {name} | the loop, {how}, {what} figures | {rate:.1f} | {told} |", flush=True)


def gpt2_shaped(folder: Path) -> None:
    """Write a random GPT-2 with mini's tokenizer."""
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config()).save_pretrained(folder)
    for path in MINI.glob("tokenizer*.json"):
        (folder / path.name).write_bytes(path.read_bytes())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make bench-scan", description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(DOCUMENTS), choices=list(DOCUMENTS))
    parser.add_argument("--documents", type=int, help="how many, in place of each model's own number")
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| model | | documents a second | |\n|---|---|--:|---|")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in given.models:
            texts = list(islice(held_out(), given.documents or DOCUMENTS[name]))
            rows = "".join('"' + text.replace('"', '""') + '"\n' for text in texts)
            corpus = folder / "documents.csv"
            corpus.write_text(f"text\n{rows}", encoding="utf-8")
            if name == GPT2:
                gpt2_shaped(folder / "gpt2")
            table(name, str(folder / "gpt2") if name == GPT2 else name, corpus, given.engines)


if __name__ == "__main__":
    main()
