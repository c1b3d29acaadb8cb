"""Sequences in which a segment of random tokens comes back after a random gap: the data that induction heads grow on.

In natural text a repeat is rare and other cues predict the next token; here nothing but the earlier copy does.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from headlight.model.nn.hooks import NO_TAP, Tap
from headlight.model.nn.transformer import Transformer

MIN_SEGMENT = 4  # tokens of a segment
MAX_GAP = 8  # fresh tokens before each copy
IGNORED = -100  # a target that is none


@dataclass(frozen=True)
class Batch:
    """Token ids, and which of them (from the second on) count in the loss as targets."""

    tokens: Int[Tensor, "batch pos"]
    targets: Bool[Tensor, "batch pos"]


def draw_repeats(n_rows: int, n_pos: int, symbols: Int[np.ndarray, " symbol"], rng: np.random.Generator) -> Batch:
    """Rows in which a segment returns until the row is full; a target is a token that its earlier copy foretells.

    A segment is at most three eighths of a row. The first token of each copy is no target: after a gap nothing says
    that the segment begins again.
    """
    rows = [_row(n_pos, symbols, rng) for _ in range(n_rows)]
    tokens, targets = (torch.from_numpy(np.stack(part)) for part in zip(*rows, strict=True))
    return Batch(tokens, targets)


def _row(n_pos: int, symbols: Int[np.ndarray, " symbol"], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    tokens = rng.choice(symbols, size=n_pos)
    targets = np.zeros(n_pos, dtype=bool)
    segment = rng.choice(symbols, size=rng.integers(MIN_SEGMENT, 3 * n_pos // 8 + 1))
    start = int(rng.integers(0, MAX_GAP + 1))
    for copy in range(n_pos):  # at most as many copies as positions
        stop = min(start + len(segment), n_pos)
        tokens[start:stop] = segment[: stop - start]
        targets[start + 1 : stop] = copy > 0
        start = stop + int(rng.integers(0, MAX_GAP + 1))
        if start >= n_pos:
            break
    return tokens, targets


def targets_loss(model: Transformer, batch: Batch, logit_scale: float, tap: Tap = NO_TAP) -> Float[Tensor, ""]:
    """Mean cross-entropy (nats) of the batch's target tokens.

    The logits of the other tokens are computed too and ignored: shapes that change with every step cost more.
    """
    logits = model(batch.tokens, tap=tap)[:, :-1] * logit_scale
    targets = batch.tokens.masked_fill(~batch.targets, IGNORED)[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
