"""How fast a corpus is scanned, by one worker and two of each engine, beside a loop over transformers (`bench scan`).

Rates are those of the second half, when everything is open and most buckets are full, as in a long scan, over the
held-out text again and again. No head is ablated, which the loop does not do either. The loop finds all that the scan
does, or adds up figures alone: all eleven, or HeadVis's six; one document after the other, as such loops are mostly
written, and in the scan's own batches.

What one thread of this process does is also given by the processor's time, which what else the machine does changes
little; by that the scan stands beside the loop, and beside the model's pass alone at which nobody looks, than which no
scan of this model can be faster. What a machine of two cores does in all is by the clock: two workers of processes
beside the loop with torch's two threads.

From the rates of processes follows what 10^9 tokens take on 1, 8 and 64 workers as efficient as two were here, and,
with `--price`, what they cost: `--models ~/models/my-8b --device cuda --price 2.5` tells of GPUs, one a worker.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import cycle, islice, product
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch

from headlight.model import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Engine, Here, Processes
from headlight.model.corpus.scan import Progress, Scan
from headlight.model.corpus.sequences import Batch, batch, batches, cut, show
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.nn.transformer import Transformer
from headlight.model.roles.detectors import is_punctuation
from headlight.model.runs.run import tokenizer_of
from headlight.recipes.scans import held_out
from tests.bench.loop import Loop, What
from tests.places import MINI

SETTINGS = ScanSettings(length=256, ablate=0, warmup=32)
GPT2 = "GPT-2-small's shape"  # random weights: what a scan costs does not depend on them
LOOPS = {"one document after the other": False, "in the scan's batches": True}
FIGURES: dict[What, str] = {
    "all": "all that the scan finds",
    "eleven": "all eleven figures",
    "six": "HeadVis's six figures",
}
WORKERS = (1, 8, 64)
DOCUMENTS = {"mini": 4096, "mini-llama": 4096, GPT2: 768}
SHARDS = 12  # at least, for the second half to begin and to end between two of some
LOOPED = 6  # times as few of the second half's documents, drawn by lot, tell enough of the loop and of the pass


def _ray(worker: Worker, count: int) -> Engine:
    from headlight.model.corpus.clusters import Ray

    return Ray(worker, count)


ENGINES: dict[str, Callable[[Worker, int], Engine]] = {
    "processes": lambda worker, count: Here(worker) if count == 1 else Processes(worker, count),
    "ray": _ray,
}


Costs = tuple[float, float]  # tokens a second of one worker, and how efficient two are


class Rates(NamedTuple):
    """A second's documents and tokens by the clock, and its documents by this process's processor time."""

    documents: float
    tokens: float
    own: float


def scanned(model: str, corpus: Path, engine: str, workers: int, settings: ScanSettings) -> Rates:
    """How fast the second half of the corpus was scanned."""
    times: list[tuple[float, float, int, int]] = []

    def note(progress: Progress) -> None:
        if progress.calibrating is None:
            counts = progress.documents, progress.results.counts["tokens"]
            times.append((time.perf_counter(), time.process_time(), *counts))

    made = ENGINES[engine](Worker(model, settings), workers)
    with tempfile.TemporaryDirectory() as folder:
        Scan(load(model), open_corpus(str(corpus)), settings, Path(folder)).run(made, note)
    made.close()
    clock, own, documents, tokens = (
        last - first for first, last in zip(times[len(times) // 2], times[-1], strict=True)
    )
    return Rates(documents / clock, tokens / clock, documents / own)


def passed(model: str, corpus: Path, settings: ScanSettings) -> float:
    """Documents a second, by the processor's time, of the model's pass over the scan's batches alone."""
    own = load(model)
    count, began = open_corpus(str(corpus)).count(None) or 1, time.process_time()
    for each in in_batches(own, corpus, settings, True):
        show(own, each)
    return count / (time.process_time() - began)


def looped(
    model: str, corpus: Path, settings: ScanSettings, what: What, batched: bool, now: Callable[[], float]
) -> float:
    """Documents a second of a plain loop over transformers with all attentions, by that clock."""
    own = load(model)
    loop = loop_of(own, what)
    count, began = open_corpus(str(corpus)).count(None) or 1, now()
    for each in in_batches(own, corpus, settings, batched):
        loop.add(each)
    return count / (now() - began)


def loop_of(model: Transformer, what: What) -> Loop:
    """The loop over transformers' model of the same weights."""
    assert model.source is not None
    tokenizer = tokenizer_of(model)
    return Loop(str(model.source.path), cache(lambda token: is_punctuation(tokenizer.to_string(token))), what)


def in_batches(model: Transformer, corpus: Path, settings: ScanSettings, batched: bool) -> Iterator[Batch]:
    """A corpus in the scan's batches, or one sequence after the other."""
    documents, bos = open_corpus(str(corpus)).documents(), tokenizer_of(model).bos_token_id
    while some := list(islice(documents, settings.shard)):
        tokens = [(each.index, model.to_tokens(each.text or "")[0].tolist()) for each in some]
        rows = [each for index, row in tokens for each in cut(index, "", row, settings.length, bos)]
        yield from batches(rows, settings.n_at_once(model.cfg.n_ctx)) if batched else (batch([row]) for row in rows)


def table(name: str, model: str, corpus: Path, few: Path, engines: list[str], settings: ScanSettings) -> Costs:
    """Print a model's rows; returns its tokens a second on one worker of the first engine, and two's efficiency."""
    costs, fastest, alone = list[Costs](), 0.0, 0.0
    for engine in engines:
        one, two = (scanned(model, corpus, engine, workers, settings) for workers in (1, 2))
        linear = two.documents / one.documents / 2
        costs.append((one.tokens, linear))
        fastest, alone = fastest or two.documents, alone or one.own
        print(f"| {name} | {engine}, 1 worker | {one.documents:.1f} | |", flush=True)
        print(f"| {name} | {engine}, 2 workers | {two.documents:.1f} | {linear:.2f} of linear |", flush=True)
    on_one_thread, like_gpt2 = engines[0] == "processes", load(model).cfg.positional_embedding_type == "standard"
    if on_one_thread and like_gpt2 and settings.device == "cpu":  # for the loop is of a GPT-2
        print(f"| {name} | 1 thread, by the processor's time | {alone:.1f} | |", flush=True)
        print(f"| {name} | the pass alone, the same | {passed(model, few, settings):.1f} | |", flush=True)
        for (how, batched), (what, told_of) in product(LOOPS.items(), FIGURES.items()):
            label = f"the loop, {how}, {told_of}"
            rate = looped(model, few, settings, what, batched, time.process_time)
            speedup = f"the scan is {alone / rate:.2f} times as fast"
            print(f"| {name} | {label} | {rate:.1f} | {speedup} |", flush=True)
            torch.set_num_threads(2)
            rate = looped(model, few, settings, what, batched, time.perf_counter)
            torch.set_num_threads(1)
            speedup = f"two workers are {fastest / rate:.2f} times as fast"
            print(f"| {name} | {label}, two threads, by the clock | {rate:.1f} | {speedup} |", flush=True)
    return costs[0]


def costs_table(costs: Mapping[str, Costs], price: float | None) -> None:
    """Print what 10^9 tokens take on several workers, and cost at so many dollars a worker and hour."""
    print(f"\n| model | workers | hours for 10^9 tokens |{' dollars |' if price else ''}")
    print(f"|---|--:|--:|{'--:|' if price else ''}")
    for (name, (rate, efficiency)), workers in product(costs.items(), WORKERS):
        hours = 1e9 / 3600 / rate / workers / (efficiency if workers > 1 else 1)
        dollars = f" {hours * workers * price:,.3g} |" if price else ""
        print(f"| {name} | {workers} | {hours:,.3g} |{dollars}")


def gpt2_shaped(folder: Path) -> None:
    """Write a random GPT-2 with mini's tokenizer."""
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config()).save_pretrained(folder)
    for path in MINI.glob("tokenizer*.json"):
        (folder / path.name).write_bytes(path.read_bytes())


def _write(path: Path, texts: Iterable[str]) -> None:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(DOCUMENTS), help="of these, or folders")
    parser.add_argument("--documents", type=int, help="how many, in place of each model's own number")
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--price", type=float, help="dollars that a worker costs for an hour")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| model | | documents a second | |\n|---|---|--:|---|")
    with tempfile.TemporaryDirectory() as made:
        folder, costs = Path(made), dict[str, Costs]()
        for name in args.models:
            count = args.documents or DOCUMENTS.get(name, DOCUMENTS[GPT2])
            corpus, few = (folder / f"{each}.jsonl" for each in ("documents", "few"))
            texts = list(islice(cycle(list(held_out())), count))
            _write(corpus, texts)
            _write(few, Random(0).sample(texts[count // 2 :], -(-count // 2 // LOOPED)))
            if name == GPT2:
                gpt2_shaped(folder / "gpt2")
            model = str(folder / "gpt2") if name == GPT2 else name
            settings = replace(SETTINGS, device=args.device, shard=max(1, min(SETTINGS.shard, count // SHARDS)))
            costs[name] = table(name, model, corpus, few, args.engines, settings)
        costs_table(costs, args.price)


if __name__ == "__main__":
    main()
