"""The arrays that the page of the grids shows; the tests compute what must be seen from the same ones."""

import numpy as np

from headlight.app.components import LensCells, LensColours

N_LAYERS, N_HEADS, N_CELLS = 12, 12, 8
HOSTILE = "<img src=x onerror=alert(1)>"
MANY = (30, 9, 15, 15)  # layers, heads, queries and keys
CAPTIONS = [[f"entropy {layer}.{head} nats" for head in range(N_HEADS)] for layer in range(N_LAYERS)]
FIGURES = [[f"{layer}.{head:02}" for head in range(N_HEADS)] for layer in range(N_LAYERS)]
ORDER = [(5, 3), (0, 1), (11, 11), *((layer, 7) for layer in range(1, N_LAYERS))]

query, key = np.indices((N_CELLS, N_CELLS))
MASKED = key > query


def changes() -> np.ndarray:
    """Head (layer, head): +layer/10 on the diagonal, -head/10 under it, 0 below, not a number where masked."""
    layer, head = np.indices((N_LAYERS, N_HEADS))[..., None, None]
    cells = np.where(query == key, layer / 10, np.where(query == key + 1, -head / 10, 0.0))
    return np.where(MASKED, np.nan, cells)


def sizes() -> np.ndarray:
    """Head (layer, head): layer + 1 in the first column, 0 elsewhere."""
    layer = np.arange(N_LAYERS)[:, None, None, None]
    return np.where(key == 0, layer + 1.0, np.zeros((N_LAYERS, N_HEADS, 1, 1)))


LAYER_LABELS = ["embed", "L0", "L1", "L2", "L3"]
LABELS = ["the", "−cat", "+dog", HOSTILE, "end"]
TURNS = [("user", 0), ("assistant", 3)]
VOCABULARY = [HOSTILE, *(f"·w{index}" for index in range(1, 20))]
DEEP = 20  # layers
ABSENT = {0: 2, 1: 1}  # the place that a run lacks: A the third, B the second
COLOURS = LensColours("entropy", "nats", (0.0, 1.0))


def lens(run: int) -> LensCells:
    """Cell (layer, place) predicts token `layer + place`, in B one more on the top layer; B has a layer less.

    A's measure is layer / 4; B's is 1 - layer / 4, so the difference runs from 1 to -1/2.
    """
    n_layers = len(LAYER_LABELS) - run
    layer, place, rank = np.indices((n_layers, len(LABELS), 10))
    absent = place == ABSENT[run]
    token = layer + place + rank + run * (layer == 3)
    measure = 1 - layer / 4 if run else layer / 4
    return LensCells(
        layer_labels=LAYER_LABELS[:n_layers],
        top=np.where(absent, -1, token).astype(np.int32),
        probabilities=np.where(absent, 0, 0.5 ** (rank + 1)).astype(np.float32),
        measure=np.where(absent, np.nan, measure)[..., 0].astype(np.float32),
    )


def deep_lens() -> LensCells:
    """A's lens over so many layers that a window may not show all of them."""
    first = lens(0)
    return LensCells(
        layer_labels=[f"L{layer}" for layer in range(DEEP)],
        top=np.repeat(first.top[:1], DEEP, 0),
        probabilities=np.repeat(first.probabilities[:1], DEEP, 0),
        measure=np.repeat(first.measure[:1], DEEP, 0),
    )
