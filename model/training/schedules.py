"""Learning rates over the steps of a training run."""

import math


def warmup_then_cosine(step: int, *, peak: float, warmup: int, total: int, floor: float) -> float:
    """A rate that rises linearly to `peak` in `warmup` steps and falls on a half cosine to `floor` at `total`."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min((step - warmup) / max(total - warmup, 1), 1.0)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
