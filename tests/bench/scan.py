"""How fast a corpus is scanned, by one worker and two of each engine, beside a loop over transformers (`bench-scan`).

Rates are those of the second half, when everything is open and most buckets are full, as in a long scan. No head is
ablated, which the loop does not do either; it computes HeadVis's six figures alone.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import torch

from headlight.model import load
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.engines import Engine, Here, Processes
from headlight.model.corpus.scan import Progress, Scan
from headlight.model.corpus.sequences import CutSequence, batches, cut
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Worker
from headlight.model.training.recipes.scans import held_out

SETTINGS = ScanSettings(length=256, shard=16, ablate=0, warmup=32)


def _ray(worker: Worker, count: int) -> Engine:
    from headlight.model.corpus.clusters import Ray

    return Ray(worker, count)


ENGINES: dict[str, Callable[[Worker, int], Engine]] = {
    "processes": lambda worker, count: Here(worker) if count == 1 else Processes(worker, count),
    "ray": _ray,
}


def scanned(model: str, corpus: Path, engine: str, workers: int) -> float:
    """Documents a second."""
    times: list[tuple[float, int]] = []

    def note(progress: Progress) -> None:
        if progress.warming is None:
            times.append((time.perf_counter(), progress.documents))

    made = ENGINES[engine](Worker(model, SETTINGS), workers)
    with tempfile.TemporaryDirectory() as folder:
        Scan(load(model), open_corpus(str(corpus)), SETTINGS, Path(folder)).run(made, note)
    made.close()
    (began, before), (ended, after) = times[len(times) // 2], times[-1]
    return (after - before) / (ended - began)


def looped(model: str, corpus: Path, most: int) -> float:
    """Documents a second of a plain loop over transformers with all attentions."""
    from transformers import AutoModelForCausalLM

    own = load(model)
    assert own.source is not None
    theirs = AutoModelForCausalLM.from_pretrained(own.source.path, attn_implementation="eager").eval()
    documents = list(islice(open_corpus(str(corpus)).documents(), most))
    began = time.perf_counter()
    rows = [
        each
        for document in documents
        for each in cut(document.index, "", own.to_tokens(document.text or "")[0].tolist(), SETTINGS.length, 0)
    ]
    sums = torch.zeros(own.cfg.n_layers, 6, own.cfg.n_heads)
    for batch in batches(rows, SETTINGS.batch):
        with torch.inference_mode():
            mask = torch.ones_like(batch.tokens) if batch.mask is None else batch.mask
            attentions = theirs(batch.tokens, attention_mask=mask, output_attentions=True, use_cache=False).attentions
            for layer, pattern in enumerate(attentions):
                sums[layer] += _six(pattern, mask.bool(), batch.sequences)
    return len(documents) / (time.perf_counter() - began)


def _six(pattern: torch.Tensor, real: torch.Tensor, rows: "list[CutSequence]") -> torch.Tensor:
    """HeadVis's figures of one layer, each in one plain expression."""
    shown = pattern.masked_fill(~(real[:, None, :, None] & real[:, None, None, :]), 0)
    place = torch.arange(pattern.shape[-1])
    apart = (place[:, None] - place).abs().float()
    induction = torch.zeros(pattern.shape[1])
    for weights, row in zip(shown, rows, strict=True):
        tokens = torch.tensor(row.tokens)
        query, key = (tokens[:, None] == tokens).tril(-1).nonzero(as_tuple=True)
        found = weights[:, query, key + 1]
        induction += found.masked_fill(found < 0.01, 0).sum(-1)
    return torch.stack(
        [
            shown.diagonal(dim1=-2, dim2=-1).sum((0, 2)),
            shown.diagonal(-1, -2, -1).sum((0, 2)),
            -(shown * shown.clamp(min=1e-38).log()).sum((0, 2, 3)),
            (shown * apart).sum((0, 2, 3)),
            (shown * apart.square()).sum((0, 2, 3)),
            induction,
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make bench-scan", description=__doc__)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--documents", type=int, default=800)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "documents.csv"
        texts = list(islice(held_out(), given.documents))
        corpus.write_text("text\n" + "".join('"' + text.replace('"', '""') + '"\n' for text in texts), encoding="utf-8")
        print(f"| {given.model}, {len(texts)} documents | documents a second | of linear |\n|---|--:|--:|")
        for engine in given.engines:
            one, two = (scanned(given.model, corpus, engine, workers) for workers in (1, 2))
            print(f"| {engine}, 1 worker | {one:.1f} | |\n| {engine}, 2 workers | {two:.1f} | {two / one / 2:.2f} |")
        print(f"| transformers, output_attentions, 1 thread | {looped(given.model, corpus, given.documents):.1f} | |")


if __name__ == "__main__":
    main()
