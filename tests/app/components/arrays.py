"""The arrays that the test page shows; the tests compute what must be seen from the same ones."""

import numpy as np

from app.components import HeadPattern, LensCells, encode_weights

N_LAYERS, N_HEADS, N_TOKENS = 4, 3, 8
HOSTILE = "<img src=x onerror=alert(1)>"
LABELS = [HOSTILE, "·When", "·Mary", "·and", "·John", "·went", "\\n", "<0xF0>"]
CAPTIONS = [[f"entropy {layer}.{head} nats" for head in range(N_HEADS)] for layer in range(N_LAYERS)]

query, key = np.indices((N_TOKENS, N_TOKENS))
MASKED = key > query


def band(layer: int) -> np.ndarray:
    """All weight on the token `layer` positions back, or on the first one where there is none."""
    return (key == np.maximum(query - layer, 0)).astype(np.float32)


def scores() -> np.ndarray:
    """Scores before the softmax [query, key] of the one head whose numbers are read off the page."""
    return np.where(MASKED, -np.inf, np.random.default_rng(0).normal(size=MASKED.shape)).astype(np.float64)


def soft_pattern() -> np.ndarray:
    """The softmax of `scores`."""
    exponentials = np.exp(scores())
    return exponentials / exponentials.sum(-1, keepdims=True)


def logsumexp() -> np.ndarray:
    """The log of each row's sum of exponentials (nats)."""
    return np.log(np.exp(scores()).sum(-1))


def shown(layer: int, head: int) -> HeadPattern:
    """Head L1H1 is the soft pattern, every other one its layer's band."""
    if (layer, head) == (1, 1):
        return HeadPattern(layer, head, encode_weights(soft_pattern(), MASKED), logsumexp().astype(np.float32))
    return HeadPattern(layer, head, encode_weights(band(layer), MASKED), np.zeros(N_TOKENS, np.float32))


def lens() -> LensCells:
    """Cell (layer, position) predicts token `layer + position`; the measure runs from 0 at the bottom to 1 on top."""
    layer, position, rank = np.indices((5, N_TOKENS, 10))
    vocabulary = [f"·w{index}" for index in range(5 + N_TOKENS + 10)]
    vocabulary[0] = HOSTILE
    return LensCells(
        layer_labels=["embed", "L0", "L1", "L2", "final"],
        position_labels=LABELS,
        vocabulary=vocabulary,
        top=(layer + position + rank).astype(np.int32),
        probabilities=(0.5 ** (rank + 1)).astype(np.float32),
        measure=(layer / 4)[..., 0].astype(np.float32),
        measure_name="entropy",
        measure_unit="nats",
        measure_range=(0.0, 1.0),
    )
