"""How long eight people wait at once, each thinking two seconds between prompts of 32 tokens, on GPT-2-small's shape.

`make bench ARGS=sessions` prints the times from a submitted prompt to the end of the page's script, beside the goal.
"""

import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from headlight.model import Transformer, TransformerConfig, embedded_models, load, save_gpt2
from tests.serving import headlight
from tests.sessions.client import Client

SESSIONS, THOUGHT, TOKENS, ROUNDS = 8, 2.0, 32, 12  # thought in seconds
GOAL = 1.0  # seconds, for 95 of 100 prompts
SHAPE = TransformerConfig(
    n_layers=12, d_model=768, n_ctx=1024, n_heads=12, d_head=64, d_vocab=50257, tie_word_embeddings=True
)
MANY_HEADS = TransformerConfig(n_layers=32, d_model=256, n_ctx=1024, n_heads=32, d_head=8, d_vocab=4096)


def random_model(folder: Path, shape: TransformerConfig = SHAPE) -> Path:
    """A GPT-2 folder of that shape with random weights and the embedded model's tokenizer."""
    torch.manual_seed(0)
    save_gpt2(Transformer(shape), folder)
    for file in embedded_models()["mini"].glob("tokenizer*.json"):
        shutil.copy(file, folder)
    return folder


def prompts(seed: int) -> Iterator[str]:
    """Prompts of so many tokens, all different."""
    rng, model = random.Random(seed), load("mini")
    pieces = [
        text for word in ("red", "cat", "river", "one", "Monday") if len(model.to_tokens(text := f" {word}")[0]) == 1
    ]
    while True:
        yield "".join(rng.choices(pieces, k=TOKENS - 1))  # the beginning-of-sequence token is one more


def waits(url: str, seed: int) -> list[float]:
    """One person's waits in seconds; the first, which opens the page, is left out."""
    rng, found = random.Random(seed), list[float]()
    with Client(url) as client:
        time.sleep(rng.uniform(0, THOUGHT))
        for prompt, _ in zip(prompts(seed), range(ROUNDS), strict=False):
            began = time.perf_counter()
            client.submit(prompt)
            found.append(time.perf_counter() - began)
            assert any(f"{TOKENS} input tokens" in text for text in client.texts), client.texts
            time.sleep(THOUGHT)
    return found


def main(flags: list[str]) -> None:
    """Measure and print; the flags are the server's."""
    with tempfile.TemporaryDirectory() as made:
        folder = random_model(Path(made) / "gpt2-shaped")
        with headlight(Path(made), "--model", str(folder), *flags) as url, ThreadPoolExecutor(SESSIONS) as pool:
            found = sorted(wait for each in pool.map(waits, [url] * SESSIONS, range(SESSIONS)) for wait in each)
    cuts = statistics.quantiles(found, n=20)
    print(f"{SESSIONS} sessions, {len(found)} prompts of {TOKENS} tokens, {THOUGHT:g} s of thought between them")
    print(f"p50 {cuts[9]:.2f} s, p95 {cuts[18]:.2f} s (goal: {GOAL:g} s), longest {found[-1]:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
