"""Cross-attention from 9 target tokens to 12 source tokens, and two searches; the tests compute from these arrays."""

import numpy as np

from headlight.app.components import BeamNode, HeadPanel, HeadPattern, TokenAxis, TokenStrip, encode_weights

HOSTILE = "<img src=x onerror=alert(1)>"
TARGETS = ["<s>", "·the", "שלום", "👩‍👩‍👧", HOSTILE, "·old", "$x$", "·dog", "a·very·long·token·of·the·target"]
SOURCES = ["der", "שלום", "👩‍👩‍👧", "<b>x</b>", "\\n", "<0xF0>", "den", "alten", "Hund", "gesehen", "hat", "."]
ROWS, COLUMNS = (TokenAxis(labels, ["both"] * len(labels)) for labels in (TARGETS, SOURCES))
SHAPE = len(TARGETS), len(SOURCES)
PADDED = 11  # the source that nothing looks at


def long_texts(times: int) -> TokenStrip:
    """The text so many times over, each token with its weights spread evenly over them."""
    rows, columns = (TokenAxis([*axis.labels] * times, ["both"] * len(axis.labels) * times) for axis in (ROWS, COLUMNS))
    spread = encode_weights(
        np.tile(weights(0) / times, (times, times)), np.zeros([times * size for size in SHAPE], bool)
    )
    zeros = np.zeros(times * SHAPE[0], np.float32)
    return TokenStrip(rows, HeadPanel(HeadPattern(0, 0, spread, zeros, np.tile(norms(0), times))), columns=columns)


def scores(head: int) -> np.ndarray:
    """Scores before the softmax [query, key]; every target looks most at one source, in another order."""
    drawn = np.random.default_rng(head).normal(size=SHAPE)
    drawn[np.arange(SHAPE[0]), np.random.default_rng(head).permutation(PADDED)[: SHAPE[0]]] += 3
    drawn[:, PADDED] = -np.inf
    return drawn


def weights(head: int) -> np.ndarray:
    """The softmax of `scores`."""
    exponentials = np.exp(scores(head))
    return exponentials / exponentials.sum(-1, keepdims=True)


def norms(head: int) -> np.ndarray:
    """How much the head writes from each source."""
    return np.random.default_rng([head, 1]).uniform(0.2, 3.0, SHAPE[1])


def measured(head: int, show: str, sink: str) -> np.ndarray:
    """What is shown [query, key]; NaN where there is no value."""
    first = np.arange(SHAPE[1]) == 0
    values = weights(head)
    if sink == "renormalise":
        values = np.where(first, 0, values)
        values = values / values.sum(-1, keepdims=True)
    written = values * norms(head)
    measure = {
        "weight": values,
        "score": scores(head),
        "write": written,
        "disagreement": values - written / written.sum(-1, keepdims=True),
    }[show]
    return np.where(np.isneginf(scores(head)) | (first & (sink != "keep")), np.nan, measure)


def panel(head: int) -> HeadPanel:
    """The head L1Hx."""
    logsumexp = np.log(np.exp(scores(head)).sum(-1)).astype(np.float32)
    codes = encode_weights(weights(head), np.isneginf(scores(head)))
    return HeadPanel(HeadPattern(1, head, codes, logsumexp, norms(head).astype(np.float32)))


NODES = [
    BeamNode("·the", None, 1, -0.25, -0.25, -0.25, "kept"),
    BeamNode(HOSTILE, None, 1, -1.75, -1.75, -1.75, "kept"),
    BeamNode("·a", None, 1, -3.0, -3.0, -3.0, "dropped"),
    BeamNode("·old", 0, 2, -0.5, -0.75, -0.375, "kept"),
    BeamNode("שלום", 1, 2, -0.25, -2.0, -1.0, "kept"),
    BeamNode("·dog", 0, 2, -2.5, -2.75, -1.375, "dropped"),
    BeamNode("</s>", 3, 3, -0.125, -0.875, -0.2917, "finished"),
    BeamNode("👩‍👩‍👧", 4, 3, -0.5, -2.5, -0.8333, "dropped"),
    BeamNode("·dog", 3, 3, -3.0, -3.75, -1.25, "dropped"),
]

BEST = 6


def search(n_steps: int, n_beams: int) -> list[BeamNode]:
    """A search that looks at twice as many tokens a step as it has beams, and keeps the better half."""
    random = np.random.default_rng(0)
    nodes: list[BeamNode] = []
    beams: list[int | None] = [None]
    for step in range(1, n_steps + 1):
        before = {beam: 0.0 if beam is None else nodes[beam].total for beam in beams}
        candidates = [
            (beam, log_prob) for beam in beams for log_prob in np.log(random.dirichlet(np.full(16, 0.3)) + 1e-9)
        ]
        candidates.sort(key=lambda each: -(before[each[0]] + each[1]))
        kept = []
        for rank, (beam, log_prob) in enumerate(candidates[: 2 * n_beams]):
            total = before[beam] + float(log_prob)
            state = "kept" if rank < n_beams else "dropped"
            if state == "kept":
                kept.append(len(nodes))
            nodes.append(BeamNode(f"·t{step}.{rank}", beam, step, float(log_prob), total, total / step, state))
        beams = list(kept)
    return nodes
