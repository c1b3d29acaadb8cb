"""Learning rates by step: a straight warm-up from zero, then a fall."""

import math
from collections.abc import Callable
from dataclasses import dataclass

Schedule = Callable[[int], float]  # the learning rate of each step, counted from 0


@dataclass(frozen=True)
class InverseSqrt:
    """`peak` at the end of `warmup` steps, then falling as one over the square root of the step; it never ends.

    Source: Vaswani et al. 2017, section 5.3, with a free peak rather than one that follows from d_model.
    """

    peak: float
    warmup: int

    def __call__(self, step: int) -> float:
        done = step + 1
        return self.peak * min(done / self.warmup, math.sqrt(self.warmup / done))


@dataclass(frozen=True)
class Cosine:
    """`peak` at the end of `warmup` steps, then half a cosine down to zero after `steps`.

    Source: Loshchilov & Hutter 2017, one cycle.
    """

    peak: float
    warmup: int
    steps: int

    def __call__(self, step: int) -> float:
        done = step + 1
        if done <= self.warmup:
            return self.peak * done / self.warmup
        share = min(1.0, (done - self.warmup) / (self.steps - self.warmup))
        return self.peak * 0.5 * (1 + math.cos(math.pi * share))
