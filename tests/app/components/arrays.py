"""The arrays that the test page shows; the tests compute what must be seen from the same ones."""

import numpy as np

from headlight.app.components import HeadPattern, TokenAxis, encode_weights

N_LAYERS, N_HEADS, N_TOKENS = 4, 3, 8
HOSTILE = "<img src=x onerror=alert(1)>"
LABELS = [HOSTILE, "·When", "·Mary", "·and", "·John", "·went", "\\n", "<0xF0>"]
AXIS = TokenAxis(LABELS, ["both"] * N_TOKENS)
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


def head_pattern(layer: int, head: int) -> HeadPattern:
    """Head L1H1 is the soft pattern, every other one its layer's band; all write as much from every key."""
    soft = (layer, head) == (1, 1)
    return HeadPattern(
        layer,
        head,
        weights=encode_weights(soft_pattern() if soft else band(layer), MASKED),
        logsumexp=(logsumexp() if soft else np.zeros(N_TOKENS)).astype(np.float32),
        write_norms=np.ones(N_TOKENS, np.float32),
    )
