"""Tokens a second of greedy decoding beside transformers' generate, on GPT-2-small's shape: `make bench`.

The same random weights in both, one prompt of 16 tokens and 128 new ones, float32 on the CPU, both with a key-value
cache. Each token needs every weight once, so nobody is faster than memory is read: the floor is the weights' bytes over
the speed of a plain sum, measured in the same rounds. All take turns, so that what else the machine does meets each of
them, and the medians count; processor time, of all threads together, tells more on a machine that others use.

Prints the figures and writes them to assets/benchmarks/decoding.json.
"""

import argparse
import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from model import Transformer, load
from model.decoding import greedy
from tests.bench.machine import machine
from tests.bench.sessions import random_model
from tests.serving import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    import transformers

GOAL = 2.0  # times the tokens a second of transformers
PROMPT = 16  # tokens
REPORT = ROOT / "assets" / "benchmarks" / "decoding.json"


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a new token: by the clock, and of processor time over all threads."""

    clock: float
    processor: float

    def times(self, factor: float) -> "Cost":
        return Cost(self.clock * factor, self.processor * factor)


@dataclass(frozen=True)
class Round:
    """What a token cost when each had its turn, and what reading all its weights does."""

    headlight: Cost
    transformers: Cost
    reading: Cost


def ours(model: Transformer, prompt: Tensor, n_new: int) -> Tensor:
    """The new tokens, as Headlight writes them."""
    return greedy(model, prompt, max_new_tokens=n_new)[0].tokens


def theirs(model: transformers.GPT2LMHeadModel, prompt: Tensor, n_new: int) -> Tensor:
    """The new tokens, as transformers writes them."""
    mask = torch.ones_like(prompt)
    return model.generate(prompt, attention_mask=mask, do_sample=False, max_new_tokens=n_new)[0, PROMPT:]


def cost(work: Callable[[], object]) -> Cost:
    """What it costs."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return Cost(1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - processor))


def cost_of_reading(model: Transformer, n_times: int) -> Cost:
    """That of all weights which a token needs, at the speed of summing those that lie in one piece."""
    needed = sum(W.nbytes for name, W in model.named_parameters() if name != "pos_embed.W_pos")
    whole = [model.embed.W_E, *(W for block in model.blocks for W in (block.mlp.W_in, block.mlp.W_out))]
    summing = cost(lambda: [W.view(8, -1).sum(1) for _ in range(n_times) for W in whole])
    return summing.times(needed / sum(W.nbytes for W in whole) / n_times)


def opened(folder: Path) -> tuple[Transformer, transformers.GPT2LMHeadModel]:
    """The same weights here and in transformers."""
    twin = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    twin.generation_config.eos_token_id, twin.generation_config.pad_token_id = None, 0
    return load(folder), twin


def measure(n_rounds: int, n_new: int) -> tuple[bool, list[Round]]:
    """Whether both write the same tokens, and the times."""
    with tempfile.TemporaryDirectory() as made:
        model, twin = opened(random_model(Path(made) / "gpt2-shaped"))
        prompt = torch.randint(model.cfg.d_vocab, (1, PROMPT), generator=torch.Generator().manual_seed(0))
        # This also brings the weights into memory.
        same = torch.equal(ours(model, prompt, n_new), theirs(twin, prompt, n_new))
        rounds = [
            Round(
                cost(lambda: ours(model, prompt, n_new)).times(1 / n_new),
                cost(lambda: theirs(twin, prompt, n_new)).times(1 / n_new),
                cost_of_reading(model, n_new),
            )
            for _ in range(n_rounds)
        ]
    return same, rounds


def median(rounds: list[Round], what: str, by: str) -> float:
    return statistics.median(getattr(getattr(each, what), by) for each in rounds)


def median_ratio(rounds: list[Round], by: str) -> float:
    """How many times as much theirs costs in the same round."""
    return statistics.median(getattr(each.transformers, by) / getattr(each.headlight, by) for each in rounds)


def report(same: bool, rounds: list[Round], settings: dict[str, int]) -> None:
    """Print the figures and write them down."""
    ratio, of_processor = median_ratio(rounds, "clock"), median_ratio(rounds, "processor")
    met = same and ratio >= GOAL
    print(f"{ratio:.2f} times transformers' tokens a second (goal: {GOAL:g}, {'met' if met else 'NOT MET'})")
    print(f"{of_processor:.2f} times by processor time; the same tokens: {'yes' if same else 'NO'}")
    print(f"{'':14}tokens a second  ms a token  ms of processor time")
    for what in ("headlight", "transformers", "reading"):
        clock, processor = median(rounds, what, "clock"), median(rounds, what, "processor")
        print(f"{what:14}{1000 / clock:15.1f}{clock:12.1f}{processor:22.1f}")
    attainable = median(rounds, "transformers", "clock") / median(rounds, "reading", "clock")
    print(f"If reading the weights were all, it would be {attainable:.2f} times.")
    ran_on = {"machine": machine(), "torch": torch.__version__, "transformers": transformers.__version__}
    print(", ".join(f"{name} {value}" for name, value in (settings | ran_on).items()))
    found = {"goal": GOAL, "ratio": ratio, "met": met, "same_tokens": same}
    figures = found | settings | ran_on | {"rounds": [asdict(each) for each in rounds]}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(figures, indent=1) + "\n")


def main() -> None:
    """Measure and report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--new", type=int, default=128, help="tokens to write")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    same, rounds = measure(given.rounds, given.new)
    report(same, rounds, {"threads": given.threads, "prompt tokens": PROMPT, "new tokens": given.new})


if __name__ == "__main__":
    main()
