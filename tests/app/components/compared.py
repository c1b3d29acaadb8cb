"""Two runs whose prompts differ by one token, on their common axis; the numbers that the page must show of them."""

import numpy as np

from headlight.app.components import HeadPanel, HeadPattern, TokenAxis, encode_weights

LABELS = ["<|bos|>", "·Mary", "−·gave", "+·kept", "·a", "·cat→·dog", "."]
PRESENCE = ["both", "both", "a", "b", "both", "changed", "both"]
POSITIONS = {"a": [0, 1, 2, None, 3, 4, 5], "b": [0, 1, None, 2, 3, 4, 5]}
AXIS = TokenAxis(LABELS, PRESENCE)
N_PLACES, N_TOKENS = len(LABELS), 6

query, key = np.indices((N_TOKENS, N_TOKENS))
MASKED = key > query
SINK = 3  # beside the first key
RESTING = (key == 0) | (key == SINK)


def scores(run: str, head: int) -> np.ndarray:
    """Scores before the softmax [query, key] on the run's own tokens, with a sink on the first key."""
    drawn = np.random.default_rng([ord(run), head]).normal(scale=1.5, size=MASKED.shape) + 2 * (key == 0)
    return np.where(MASKED, -np.inf, drawn)


def weights(run: str, head: int) -> np.ndarray:
    """The softmax of `scores`."""
    exponentials = np.exp(scores(run, head))
    return exponentials / exponentials.sum(-1, keepdims=True)


def norms(run: str, head: int) -> np.ndarray:
    """How much the head writes from each key."""
    return np.random.default_rng([ord(run), head, 1]).uniform(0.2, 3.0, N_TOKENS)


def pattern(run: str, head: int) -> HeadPattern:
    """The head L0Hx on the common axis."""
    own = HeadPattern(
        layer=0,
        head=head,
        weights=encode_weights(weights(run, head), MASKED),
        logsumexp=np.log(np.exp(scores(run, head)).sum(-1)).astype(np.float32),
        write_norms=norms(run, head).astype(np.float32),
        sinks=(SINK,),
    )
    return own.on_axis(POSITIONS[run])


def panel(head: int, compare: bool) -> HeadPanel:
    """A head of run A, or of both."""
    return HeadPanel(pattern("a", head), pattern("b", head) if compare else None)


def measured(run: str, head: int, show: str, sink: str) -> np.ndarray:
    """What is shown [query, key] on the run's own tokens; NaN where there is no value."""
    values = weights(run, head)
    if sink == "renormalise":
        values = np.where(RESTING, 0, values)
        with np.errstate(invalid="ignore"):
            values = values / values.sum(-1, keepdims=True)  # the first row has nothing else: NaN
    if show == "score":
        values = scores(run, head)
    written = values * norms(run, head)
    if show == "write":
        values = written
    if show == "disagreement":
        values = values - written / written.sum(-1, keepdims=True)
    return np.where(MASKED | (RESTING & (sink != "keep")), np.nan, values)


def on_axis(run: str, values: np.ndarray) -> np.ndarray:
    """The same on the common axis."""
    places = [place for place, position in enumerate(POSITIONS[run]) if position is not None]
    placed = np.full((N_PLACES, N_PLACES), np.nan)
    placed[np.ix_(places, places)] = values
    return placed


def difference(head: int, show: str, sink: str) -> np.ndarray:
    """B - A on the common axis: a key that one run lacks counts as zero there, of scores nothing is known of it."""
    a, b = (on_axis(run, measured(run, head, show, sink)) for run in "ab")
    if show == "score":
        return b - a
    both = np.array([None not in pair for pair in zip(*POSITIONS.values(), strict=True)])
    known = both[:, None] & ~(np.isnan(a) & np.isnan(b))
    return np.where(known, np.nan_to_num(b) - np.nan_to_num(a), np.nan)
