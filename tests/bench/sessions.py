"""How long many people wait at once who share a server, each thinking between prompts of 32 tokens.

`make bench ARGS=sessions` prints the times from a submitted prompt to the end of the page's script, beside the goal,
and the server's processor time an answer, which other programs change less. A class that presses the same step of a
lesson within a second is `ARGS="sessions --sessions 30 --together --goal 1"`.
"""

import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Barrier

import requests
import torch
from prometheus_client.parser import text_string_to_metric_families

from headlight.model import Transformer, TransformerConfig, embedded_models, load, save_gpt2
from tests.serving import headlight
from tests.sessions.client import Client
from tests.sessions.flood import flood

TOKENS = 32
SHAPE = TransformerConfig(
    n_layers=12, d_model=768, n_ctx=1024, n_heads=12, d_head=64, d_vocab=50257, tie_word_embeddings=True
)
MANY_HEADS = TransformerConfig(n_layers=32, d_model=256, n_ctx=1024, n_heads=32, d_head=8, d_vocab=4096)


@dataclass(frozen=True)
class Wait:
    """Seconds from a submitted prompt to the end of the script, and whether the page refused it."""

    seconds: float
    is_refused: bool


def random_model(folder: Path, shape: TransformerConfig = SHAPE) -> Path:
    """A GPT-2 folder of that shape with random weights and the embedded model's tokenizer."""
    torch.manual_seed(0)
    save_gpt2(Transformer(shape), folder)
    for file in embedded_models()["mini"].glob("tokenizer*.json"):
        shutil.copy(file, folder)
    return folder


@cache
def words() -> list[str]:
    """Words that are a token each; they are looked up once, before the clock starts."""
    model = load("mini")
    return [
        text for word in ("red", "cat", "river", "one", "Monday") if len(model.to_tokens(text := f" {word}")[0]) == 1
    ]


def prompts(seed: int) -> Iterator[str]:
    """Prompts of so many tokens, all different."""
    rng = random.Random(seed)
    while True:
        yield "".join(rng.choices(words(), k=TOKENS - 1))  # the beginning-of-sequence token is one more


def waits(url: str, seed: int, options: Namespace, everybody_in: Barrier) -> list[Wait]:
    """One person's waits; opening the page is not among them."""
    rng, result = random.Random(seed), list[Wait]()
    with Client(url) as client:
        everybody_in.wait()
        time.sleep(rng.uniform(0, 1 if options.together else options.thought))
        for prompt, _ in zip(prompts(0 if options.together else seed), range(options.rounds), strict=False):
            began = time.perf_counter()
            client.submit(prompt)
            seconds = time.perf_counter() - began
            is_answered = any(f"{TOKENS} input tokens" in text for text in client.texts)
            result.append(Wait(seconds, any("Busy" in text for text in client.texts)))
            assert is_answered or result[-1].is_refused, client.texts
            time.sleep(options.thought)
    return result


def processor_seconds(url: str) -> float:
    """Seconds of the processor that the server has taken, of all its threads and workers."""
    families = text_string_to_metric_families(requests.get(f"{url}/metrics", timeout=60).text)
    return sum(each.value for family in families if family.name == "process_cpu_seconds" for each in family.samples)


def flags() -> tuple[Namespace, list[str]]:
    """The benchmark's own flags, and the server's."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--thought", type=float, default=5.0, help="seconds between an answer and the next prompt")
    parser.add_argument("--rounds", type=int, default=4, help="prompts of each session")
    parser.add_argument("--together", action="store_true", help="everybody sends the same prompts, within a second")
    parser.add_argument("--goal", type=float, default=3.0, help="seconds, for 95 of 100 prompts")
    parser.add_argument("--flood", type=int, default=0, help="connections of one address that hold on meanwhile")
    parser.add_argument("--slow", type=int, default=0, help="more sessions, which read slowly and ask for more")
    parser.add_argument("--model", help="another than one with random weights in the shape of GPT-2 small")
    return parser.parse_known_args()


def main() -> None:
    """Measure and print."""
    options, of_server = flags()
    words()
    with tempfile.TemporaryDirectory() as made:
        model = options.model or str(random_model(Path(made) / "gpt2-shaped"))
        with (
            headlight(Path(made), "--model", model, *of_server) as url,
            flood(url, options.flood, options.slow) as statuses,
            ThreadPoolExecutor(options.sessions) as pool,
        ):
            began = list[float]()
            everybody_in = Barrier(options.sessions, lambda: began.append(processor_seconds(url)))
            answers = [pool.submit(waits, url, seed, options, everybody_in) for seed in range(options.sessions)]
            result = [wait for answer in answers for wait in answer.result()]
            took, load_average = processor_seconds(url) - began[0], os.getloadavg()[0]
    seconds = sorted(wait.seconds for wait in result)
    cuts = statistics.quantiles(seconds, n=20) if len(seconds) > 1 else seconds * 19
    n_refused = sum(wait.is_refused for wait in result)
    print(
        f"{options.sessions} session{'s' if options.sessions > 1 else ''}, {len(result)} prompts of {TOKENS} tokens, "
        f"{options.thought:g} s of thought between them, load {load_average:.0f} on {os.cpu_count()} cores"
    )
    if options.flood or options.slow:
        print(
            f"beside {options.flood} connections of one address, {statuses.count(503)} of them turned away, and "
            f"{options.slow} slow readers"
        )
    print(
        f"p50 {cuts[9]:.2f} s, p95 {cuts[18]:.2f} s (goal: {options.goal:g} s), longest {seconds[-1]:.2f} s, "
        f'"busy": {n_refused}; {1000 * took / len(result):.0f} ms of the server\'s processor time an answer'
    )
    sys.exit(n_refused > 0 or cuts[18] > options.goal)


if __name__ == "__main__":
    main()
