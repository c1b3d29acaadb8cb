"""What all parts of the benchmark share: the settings, the checkpoint, and the processes that take turns."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.figures import Turns
from tests.bench.timing import fastest_exact
from tests.bench.workers import Answer, Worker, installed

GPT2 = {"n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
GPT2_XL = GPT2 | {"n_layer": 48, "n_embd": 1600, "n_head": 25}
SHAPES: dict[str, dict[str, int]] = {"gpt2": GPT2, "gpt2-xl": GPT2_XL}
CLOSE = 1e-3  # logits of size 1 by other sums, in which attention's rounding adds up over the layers


@dataclass(frozen=True)
class Setting:
    """How much is measured, and on what; lengths are prompts' numbers of tokens."""

    shape: Mapping[str, int] = field(default_factory=lambda: GPT2)
    lengths: tuple[int, ...] = (16, 128, 512, 1024)
    n_new: int = 128
    rounds: int = 5
    threads: int = 2
    device: str = "cpu"
    peers: tuple[str, ...] = ("hugging_face", "hooked_transformer", "bridge")


class Bench:
    """One run of the benchmark. All that is timed is noted in `turns`, by title."""

    def __init__(self, setting: Setting, made: Path) -> None:
        self.setting, self.made = setting, made
        self.turns: dict[str, Turns] = {}
        self.versions: dict[str, str] = {}
        self.fastest = fastest_exact()
        self._workers: dict[str, Worker] = {}
        self.folder = self.checkpoint("model", setting.shape)

    def checkpoint(self, name: str, shape: Mapping[str, int], kind: str = "gpt2") -> Path:
        """A folder of a shape, and of a `model_type`, with random weights, saved by transformers."""
        folder = self.made / name
        self._worker("hugging_face").do("save", folder=str(folder), shape=dict(shape), kind=kind)
        return folder

    @property
    def on_cpu(self) -> bool:
        """Where how products are made can be chosen."""
        return self.setting.device == "cpu"

    def has(self, peer: str) -> bool:
        """Whether a peer is to be measured and can be."""
        return peer in self.setting.peers and installed(peer)

    def peer(self, name: str) -> Worker:
        """The process that holds this implementation with the weights open, started when first asked for."""
        worker = self._worker(name)
        if name not in self.versions:
            worker.do("load", folder=str(self.folder))
            self.versions[name] = worker.do("version").value
        return worker

    @contextmanager
    def fresh(self, name: str) -> Iterator[Worker]:
        """A process of its own that holds nothing yet."""
        worker = self._start(name)
        try:
            yield worker
        finally:
            worker.close()

    def _worker(self, name: str) -> Worker:
        if name not in self._workers:
            self._workers[name] = self._start(name)
        return self._workers[name]

    def _start(self, name: str) -> Worker:
        return Worker(name, self.setting.device, self.setting.threads, self.made / f"{name}.log")

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def task(self, peer: str, name: str, precision: str | None = None, **arguments: Any) -> Callable[[], Answer]:
        """Something that a peer can be told to do, for `take_turns`."""
        return partial(self.peer(peer).do, name, precision, **arguments)

    def take_turns(self, title: str, tasks: Mapping[str, Callable[[], Answer]], rounds: int | None = None) -> Turns:
        """What each task costs, in so many rounds; all do it once before, which does not count."""
        for do in tasks.values():
            do()
        turns: Turns = {name: [] for name in tasks}
        for _ in range(rounds or self.setting.rounds):
            for name, do in tasks.items():
                turns[name].append(do().cost)
        self.turns[title] = turns
        return turns

    def check_answers(self, n_tokens: int) -> None:
        """All peers have to say the same.

        Raises:
            RuntimeError: one does not, so that there is nothing to compare.
        """
        for name in filter(self.has, self.setting.peers):
            self.check_alike(self.peer("headlight"), self.peer(name), name, n_tokens)

    def check_alike(self, ours: Worker, theirs: Worker, name: str, n_tokens: int) -> None:
        """Two processes have to say the same; raises as `check_answers`."""
        expected, actual = (worker.do("answer", n_tokens=n_tokens).value for worker in (ours, theirs))
        if max(abs(a - b) for a, b in zip(expected, actual, strict=True)) > CLOSE:
            raise RuntimeError(f"Logits differ: headlight {json.dumps(expected)}, {name} {json.dumps(actual)}")
