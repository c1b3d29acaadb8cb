"""What a piece of work costs, and which exact matrix product is the fastest here. Needs torch alone."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

PRECISIONS = ("none", "ieee", "tf32", "bf16")  # what oneDNN is asked for; what it then does depends on the processor
EXACT = 5e-6  # relative error of a float32 product whose terms are merely added in another order


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, a GPU's own where the work is there, and of processor time over all threads."""

    clock: float
    processor: float

    def times(self, factor: float) -> "Cost":
        return Cost(self.clock * factor, self.processor * factor)


def cost(work: Callable[[], Any], device: str = "cpu") -> tuple[Cost, Any]:
    """What it costs until its result is there, and the result; freeing that is not counted."""
    if device != "cpu":
        return _cost_on_gpu(work)
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return Cost(time.perf_counter() - clock, time.process_time() - processor), result


def _cost_on_gpu(work: Callable[[], Any]) -> tuple[Cost, Any]:
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    processor = time.process_time()
    began.record()
    result = work()
    ended.record()
    torch.cuda.synchronize()
    return Cost(began.elapsed_time(ended) / 1000, time.process_time() - processor), result


def use_precision(name: str) -> None:
    """Have all matrix products of this process made that way."""
    torch.backends.mkldnn.matmul.fp32_precision = name  # type: ignore[attr-defined]


def fastest_exact() -> str:
    """The name, of those in `PRECISIONS`, of the fastest product without more than float32's rounding."""
    x, W = torch.randn(256, 768), torch.randn(768, 3072)
    expected = x.double() @ W.double()
    times: dict[str, float] = {}
    for name in PRECISIONS:
        use_precision(name)
        if ((x @ W - expected).abs().max() / expected.abs().max()).item() <= EXACT:
            times[name] = statistics.median(cost(lambda: x @ W)[0].clock for _ in range(30))
    use_precision("none")
    return min(times, key=times.__getitem__)
