"""Headlight beside what one would pick instead, and beside the machine's own limit: `make bench`.

All take turns, each in a process of its own, so that what else the machine does meets each of them; ratios are those of
one round, and their median counts. The same random weights, of GPT-2-small's shape and saved by transformers, the same
tokens, float32, a batch of one. With --device cuda the times are the GPU's own.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from tests.bench import (
    forward,
    generation,
    growth,
    kernels,
    lens,
    llama,
    loading,
    memory,
    patching,
    plots,
    report,
    starting,
)
from tests.bench.bench import SHAPES, Bench, Setting
from tests.bench.figures import Figure

PARTS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "forward": forward.measure,
    "kernels": kernels.measure,
    "lens": lens.measure,
    "memory": memory.measure,
    "loading": loading.measure,
    "start": starting.measure,
    "generation": generation.measure,
    "patching": patching.measure,
    "growth": growth.measure,
    "llama": llama.measure,
    "xl": loading.measure_xl,
}
ON_GPU = ("forward", "generation", "growth")


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help=f"parts, with commas between them: {','.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=Setting.rounds, help="fewer for a first look")
    parser.add_argument("--threads", type=int, default=Setting.threads)
    parser.add_argument("--device", choices=("cpu", "cuda"), default=Setting.device)
    parser.add_argument("--shape", choices=tuple(SHAPES), default="gpt2")
    parser.add_argument("--out", type=Path, help="where to write the figures; those of all parts go to assets")
    args = parser.parse_args()
    args.parts = args.only.split(",") if args.only else list(ON_GPU if args.device == "cuda" else PARTS)
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return args


def main() -> None:
    """Measure, print, and write down what was measured whole."""
    args, began = options(), time.monotonic()
    torch.set_num_threads(args.threads)
    setting = Setting(SHAPES[args.shape], rounds=args.rounds, threads=args.threads, device=args.device)
    with tempfile.TemporaryDirectory() as made:
        bench, figures = Bench(setting, Path(made)), list[Figure]()
        try:
            print(report.HEADER)
            for part in args.parts:
                for figure in PARTS[part](bench):
                    report.show(figure)
                    figures.append(figure)
        finally:
            bench.close()
    goals = [figure.met for figure in figures if figure.met is not None]
    print(f"{sum(goals)} of {len(goals)} goals met; {(time.monotonic() - began) / 60:.1f} minutes")
    if out := args.out or (report.REPORT if args.parts == list(PARTS) else None):
        report.write(bench, figures, out)
        if out == report.REPORT:
            plots.main()


if __name__ == "__main__":
    main()
