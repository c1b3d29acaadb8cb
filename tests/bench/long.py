"""Long prompts, beside a pass of transformers that looks at nothing: `make bench ARGS="long --shape smollm2"`.

Random weights of a shape (SmolLM2-135M's, or those of Llama's 1 and 8 billion parameters) in float32, one prompt, the
last token's logits; all take turns in one process, whose freed memory all of them use again. A page's run is what the
first picture waits for; all heads' thumbnails and scores come after it. `--device cuda` measures on a GPU by its own
events, with transformers' eager attention beside the fused.
"""

import argparse
import gc
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from headlight.model import Transformer, load, return_freed_memory, reuse_freed_memory
from headlight.model.attention.axis import grouping
from headlight.model.attention.fields import attention_of
from headlight.model.runs.run import Run, make_run
from headlight.model.runs.summaries import summarize
from tests.bench import report
from tests.bench.figures import Figure, Turns, at_most, milliseconds, ratio
from tests.bench.memory import MB, extra_memory
from tests.bench.peers.hugging_face import Peer
from tests.bench.prompt import head, prompt
from tests.bench.timing import cost


def _llama(layers: int, width: int, heads: int, groups: int, d_mlp: int, n_words: int) -> dict[str, int]:
    sizes = {"num_hidden_layers": layers, "hidden_size": width, "intermediate_size": d_mlp, "vocab_size": n_words}
    return sizes | {"num_attention_heads": heads, "num_key_value_heads": groups, "max_position_embeddings": 8192}


SHAPES = {
    "tiny": _llama(2, 32, 4, 2, 48, 512),
    "smollm2": _llama(30, 576, 9, 3, 1536, 49152),
    "1b": _llama(16, 2048, 32, 8, 8192, 128256),
    "8b": _llama(32, 4096, 32, 8, 14336, 128256),
}
SDPA, EAGER, PLAIN = "transformers sdpa", "transformers eager", "Headlight, nothing kept"
RUN, ALL = "a page's run", "a page's run with all thumbnails and scores"
GOALS = {PLAIN: {2048: 1.05, 4096: 1.05, 8192: 1.05}, RUN: {4096: 1.2, 8192: 1.2}, ALL: {4096: 1.7}}
BESIDE = {8192: 300}  # MB beside the kept activations
LONGEST, WINDOW = 8192, 256
CLOSE = 1e-3  # logits by other sums


class Sides:
    """transformers' model and ours, of the same file."""

    def __init__(self, folder: Path, shape: Mapping[str, int], device: str) -> None:
        self.device, self.theirs = device, Peer(device)
        self.theirs.save(str(folder), dict(shape), "llama")
        self.theirs.load(str(folder))
        self.ours = load(folder).to(device)
        self.ours.tokenizer = load("mini").tokenizer  # which a run has to have; nothing is read by it

    def transformers(self, n_tokens: int, attention: str) -> Any:
        model = self.theirs.model
        if model.config._attn_implementation != attention:
            model.set_attn_implementation(attention)
        return model(self.theirs.prompt(n_tokens), use_cache=False, logits_to_keep=1).logits

    def plain(self, n_tokens: int) -> Any:
        model: Transformer = self.ours
        final = model(self.theirs.prompt(n_tokens), stop_at_layer=model.cfg.n_layers)
        return model.to_logits(final[:, -1:])

    def run(self, n_tokens: int) -> Run:
        return make_run(self.ours, "", False, prompt(n_tokens, self.ours.cfg.d_vocab, "cpu")[0])

    def all(self, n_tokens: int) -> Any:
        return summarize(self.run(n_tokens))

    def tasks(self, n_tokens: int) -> dict[str, Callable[[], Any]]:
        eager = {EAGER: partial(self.transformers, n_tokens, "eager")} if self.device != "cpu" else {}
        ours = {name: partial(do, n_tokens) for name, do in ((PLAIN, self.plain), (RUN, self.run), (ALL, self.all))}
        return {SDPA: partial(self.transformers, n_tokens, "sdpa"), **eager, **ours}


def measure(sides: Sides, n_tokens: int, rounds: int) -> Iterator[Figure]:
    """The ratios at a length, and on the CPU the most memory beside what a run keeps."""
    tasks = sides.tasks(n_tokens)
    expected, answer = (head(tasks[name]()) for name in (SDPA, PLAIN))
    if max(abs(a - b) for a, b in zip(expected, answer, strict=True)) > CLOSE:
        raise RuntimeError(f"Logits differ: transformers {expected}, headlight {answer}")
    turns: Turns = {name: [] for name in tasks}
    for _ in range(rounds if n_tokens < LONGEST else 1):  # a round of the longest takes some eight minutes
        for name, do in tasks.items():
            turns[name].append(cost(do, sides.device)[0])
    yield milliseconds("long", f"{n_tokens} tokens: {SDPA}", turns[SDPA])
    for name in tasks:
        if name != SDPA:
            goal = at_most(GOALS.get(name, {}).get(n_tokens))
            yield ratio("long", f"{n_tokens} tokens: {name} / {SDPA}", turns[name], turns[SDPA], goal)
    if sides.device == "cpu":
        goal, beside = at_most(BESIDE.get(n_tokens)), _beside(sides, n_tokens)
        yield Figure("long", f"{n_tokens} tokens: memory beside what is kept", (beside,), "MB", goal)


def _beside(sides: Sides, n_tokens: int) -> float:
    """MB of a run, its summaries and a head that is opened, beyond the activations that the run keeps."""
    gc.collect()
    return_freed_memory()
    made: list[Run] = []

    def work() -> None:
        made.append(sides.run(n_tokens))
        summarize(made[0])
        attention_of(made[0], (0, 0), grouping(made[0], "block"), "largest")
        attention_of(made[0], (0, 0), queries=range(n_tokens - WINDOW, n_tokens))

    most, _ = extra_memory(os.getpid(), work)
    kept = {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in made[0].cache.values()}
    return most - sum(kept.values()) / MB


def main() -> None:
    """Print every figure beside its goal."""
    parser = argparse.ArgumentParser(prog="long", description=__doc__)
    parser.add_argument("--shape", choices=tuple(SHAPES), default="smollm2")
    parser.add_argument("--lengths", default="2048,4096,8192", help="numbers of tokens, with commas between them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    reuse_freed_memory()
    print(report.HEADER)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        sides = Sides(Path(folder), SHAPES[chosen.shape], chosen.device)
        for n_tokens in map(int, chosen.lengths.split(",")):
            for figure in measure(sides, n_tokens, chosen.rounds):
                report.show(figure)


if __name__ == "__main__":
    main()
