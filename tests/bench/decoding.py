"""Tokens a second of greedy decoding beside transformers' generate, on GPT-2-small's shape: `make bench`.

The same random weights in both, one prompt of 16 tokens and 128 new ones, float32 on the CPU, both with a key-value
cache. The two take turns, so that what else the machine does meets both, and the middle of the ratios is what counts.
"""

import argparse
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from model import Transformer, load
from model.decoding import greedy
from tests.bench.sessions import random_model

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    import transformers

GOAL = 2.0  # times the tokens a second of transformers
PROMPT = 16  # tokens


def ours(model: Transformer, prompt: Tensor, n_new: int) -> Tensor:
    """The new tokens, as Headlight writes them."""
    return greedy(model, prompt, max_new_tokens=n_new)[0].tokens


def theirs(model: transformers.GPT2LMHeadModel, prompt: Tensor, n_new: int) -> Tensor:
    """The new tokens, as transformers writes them."""
    mask = torch.ones_like(prompt)
    return model.generate(prompt, attention_mask=mask, do_sample=False, max_new_tokens=n_new)[0, PROMPT:]


def seconds(write: Callable[[], Tensor]) -> float:
    """How long one writing takes."""
    began = time.perf_counter()
    write()
    return time.perf_counter() - began


def opened(folder: Path) -> tuple[Transformer, transformers.GPT2LMHeadModel]:
    """The same weights here and in transformers."""
    twin = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    twin.generation_config.eos_token_id, twin.generation_config.pad_token_id = None, 0
    return load(folder), twin


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--new", type=int, default=128, help="tokens to write")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as made:
        model, twin = opened(random_model(Path(made) / "gpt2-shaped"))
        prompt = torch.randint(model.cfg.d_vocab, (1, PROMPT), generator=torch.Generator().manual_seed(0))
        same = torch.equal(
            ours(model, prompt, given.new), theirs(twin, prompt, given.new)
        )  # also brings the weights into memory
        rounds = [
            (seconds(lambda: ours(model, prompt, given.new)), seconds(lambda: theirs(twin, prompt, given.new)))
            for _ in range(given.rounds)
        ]
    ratio = statistics.median(slow / fast for fast, slow in rounds)
    fast, slow = (given.new / statistics.median(each) for each in zip(*rounds, strict=True))
    print(
        f"{ratio:.2f} times transformers' tokens a second (goal: {GOAL:g}), the same tokens: {'yes' if same else 'NO'}"
    )
    print(f"Headlight {fast:.1f}, transformers {transformers.__version__} {slow:.1f}; medians of {given.rounds} rounds")
    print(f"each round: {', '.join(f'{slow / fast:.2f}' for fast, slow in rounds)}")
    print(f"torch {torch.__version__}, {given.threads} threads, {os.cpu_count()} processors, {platform.machine()}")


if __name__ == "__main__":
    main()
