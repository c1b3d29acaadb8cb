"""How soon the page *MLP* has its numbers, on GPT-2-small's shape: `make bench ARGS=neurons`.

Of random weights on two threads, at 64 tokens: the first of all 36,864 neurons by each measure, and one of them in
full. A run is made before; each prompt is another one, for which nothing is kept.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path

import torch

from headlight.model import Run, load, run_prompt
from headlight.model.neurons import tables
from headlight.model.neurons.tables import NeuronQuestion
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.host import Host, Value
from tests.bench.machine import machine
from tests.bench.sessions import random_model
from tests.bench.why import TOKENS, word

GOAL = 0.5  # seconds
PROMPTS = 9


class Kept(Host):
    """Keeps what is computed, as the pages' server does."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, object] = {}

    def keep(self, key: tuple[Hashable, ...], make: Callable[[], Value]) -> Value:
        """What `make` gave first."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[return-value]


def listed(run: Run) -> NeuronQuestion:
    """The first neurons by all measures, with the sums that they are part of."""
    target, distractor = run.next_logits.topk(2).indices.tolist()
    question, comparison = NeuronQuestion(target, distractor, len(run.tokens) - 1), Comparison(run)
    tables.ranked(comparison, question)
    tables.sums_of(comparison, question)
    return question


def in_full(run: Run) -> None:
    """The first neuron's activation over the prompt, its tokens and its heads; the list is kept by now."""
    question = listed(run)
    comparison, neuron = Comparison(run), tables.chosen(Comparison(run), question)
    tables.strip_of(comparison, neuron)
    tables.neuron_tokens(run, neuron, question.place)
    tables.composed_of(run, neuron)


def main() -> None:
    """Print the median seconds of both, wall clock and processor."""
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        model, host = load(str(random_model(Path(folder) / "gpt2"))), Kept()
        taken: dict[str, list[tuple[float, float]]] = {"the first neurons": [], "one in full": []}
        for prompt in range(PROMPTS):
            text = " ".join(word(place * (prompt + 2)) for place in range(TOKENS))
            run = replace(run_prompt(model, text), host=host)
            for name, do in (("the first neurons", listed), ("one in full", in_full)):
                begun, spent = time.perf_counter(), time.process_time()
                do(run)
                taken[name].append((time.perf_counter() - begun, time.process_time() - spent))
    print(machine())
    for name, seconds in taken.items():
        wall, processor = (statistics.median(each[1:]) for each in zip(*seconds, strict=True))
        print(f"{name}: {wall:.2f} s, of which the processor {processor:.2f} s (goal {GOAL} s)")


if __name__ == "__main__":
    main()
