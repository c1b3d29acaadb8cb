"""The map of all heads beside its arithmetic floor, on GPT-2-small's shape: `make bench-patching`.

Random weights, two prompts of 16 tokens, float32 on the CPU. The floor is what the map's matrix products would take if
nothing else were done: every head's variant from its own layer on, at the rate of such products measured in between, as
tall as the variants in flight. The naive way, one whole run for each head, is timed on some heads and scaled up. All
times are the processor's, so that what else the machine does does not count.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from model import Transformer
from model.hooks import HookPoint
from model.patching import LogitDifference, Patching, grid, patching_map
from model.patching.grids import operations
from tests.bench.sessions import SHAPE

GOAL = 1.5  # times the floor
TOKENS = 16
NAIVE_HEADS = 6
ASKED = LogitDifference(target=464, distractor=262, position=TOKENS - 1)


def seconds(work: Callable[[], object]) -> float:
    """The processor's time for one piece of work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def products(model: Transformer, n_rows: int) -> Callable[[], None]:
    """The products of one layer for so many rows, as torch alone does them."""
    block = model.blocks[0]
    d_model = model.cfg.d_model
    W_QKV, W_O = torch.randn(d_model, 3 * d_model), torch.randn(d_model, d_model)
    W_in, W_out = (block.get_parameter(f"mlp.{name}").detach().clone() for name in ("W_in", "W_out"))
    rows, hidden = torch.randn(n_rows, d_model), torch.randn(n_rows, W_in.shape[1])

    def run() -> None:
        rows @ W_QKV, rows @ W_O, rows @ W_in, hidden @ W_out

    return run


def rate(model: Transformer) -> float:
    """Operations a second over the heights that the growing batch has."""
    cfg = model.cfg
    heights = [TOKENS * cfg.n_heads * layer for layer in range(1, cfg.n_layers)]
    weights = 4 * cfg.d_model**2 + 2 * cfg.d_model * (cfg.d_mlp or 0)
    took = sum(seconds(products(model, height)) for height in heights)
    return 2 * weights * sum(heights) / took


def naive(model: Transformer, a: Tensor, b: Tensor) -> Iterator[float]:
    """The logit difference with some heads patched, a whole run for each."""
    _, there = model.run_with_cache(b, lambda name: name.endswith("hook_z"))
    for index in range(NAIVE_HEADS):
        layer, head = index * model.cfg.n_layers // NAIVE_HEADS, index

        def put(z: Tensor, hook: HookPoint, head: int = head) -> None:
            z[:, :, head] = there[hook.name][:, :, head]

        row = model.run_with_hooks(a, [(f"blocks.{layer}.attn.hook_z", put)])[0, ASKED.position]
        yield float(row[ASKED.target] - row[ASKED.distractor])


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    model = Transformer(SHAPE).requires_grad_(False).eval()
    a, b = torch.randint(SHAPE.d_vocab, (2, TOKENS)).split(1)
    cells = grid("z", SHAPE, TOKENS).variants
    work = operations(SHAPE, cells, TOKENS)
    with torch.inference_mode():
        patching_map(Patching(model, a, b, ASKED), "z")  # brings the weights into memory
        rounds = []
        for _ in range(given.rounds):
            floor = work / rate(model)
            took = seconds(lambda: patching_map(Patching(model, a, b, ASKED), "z"))
            rounds.append((took, floor, seconds(lambda: list(naive(model, a, b))) * len(cells) / NAIVE_HEADS))
    took, floor, one_by_one = (statistics.median(each) for each in zip(*rounds, strict=True))
    ratio = statistics.median(took / floor for took, floor, _ in rounds)
    print(f"{ratio:.2f} times the arithmetic floor (goal: at most {GOAL:g}) for {len(cells)} heads, {TOKENS} tokens")
    print(f"map {took:.2f} s; floor {floor:.2f} s, {work / 1e9:.0f} GFLOP at {work / floor / 1e9:.0f} GFLOP a second")
    print(
        f"one whole run for each head {one_by_one:.2f} s, from {NAIVE_HEADS} of them; medians of {given.rounds} rounds"
    )
    print(f"each round: {', '.join(f'{took / floor:.2f}' for took, floor, _ in rounds)}")
    print(f"torch {torch.__version__}, {given.threads} threads, {os.cpu_count()} processors, {platform.machine()}")


if __name__ == "__main__":
    main()
