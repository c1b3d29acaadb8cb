"""The numbers of one head's steps: of every key, every component of q, k, v and z, every entry of the stream."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from app.shown import Shown
from app.views.sides import DIFFERENCE, placed
from app.views.steps.chosen import Inside

Columns = dict[str, Float[np.ndarray, " row"]]


def by_key(shown: Shown, sides: Mapping[str, Inside]) -> dict[str, Columns]:
    """What the query makes of every key, on the page's places; not a number where a run has no token."""
    return {
        side: {name: placed(values[None], shown.positions(at.run), np.nan)[0] for name, values in _of_keys(at).items()}
        for side, at in sides.items()
    }


def _of_keys(at: Inside) -> Columns:
    steps = at.steps
    return {
        "q · k": steps.dots.values.numpy(),
        "q · k / scale": steps.scores.values.numpy(),
        "masked score": steps.masked.values.numpy(),
        "exp(score − max)": steps.exponentials.values.numpy(),
        "attention weight": steps.weights.values.numpy(),
    }


def by_component(sides: Mapping[str, Inside]) -> dict[str, Columns]:
    """The query's vector, the followed key's vector and value, and the weighted sum of values."""
    return {side: _of_components(at) for side, at in sides.items()}


def _of_components(at: Inside) -> Columns:
    q, k, v = at.steps.q.values.numpy(), at.steps.k.values[at.key].numpy(), at.steps.v.values[at.key].numpy()
    columns = {"q": q, "k": k, "q × k": q * k, "v": v, "z": at.steps.z.values.numpy()}
    rows = max(map(len, columns.values()))
    return {name: np.pad(values, (0, rows - len(values)), constant_values=np.nan) for name, values in columns.items()}


def by_entry(sides: Mapping[str, Inside]) -> dict[str, Columns]:
    """The query's stream, the same after LayerNorm, and what the head adds to it."""
    return {
        side: {
            "stream": at.steps.stream.values[at.query].numpy(),
            "after LayerNorm": at.steps.read.values[at.query].numpy(),
            "output": at.steps.output.values.numpy(),
        }
        for side, at in sides.items()
    }


def with_difference(sides: dict[str, Columns]) -> dict[str, Columns]:
    """The same and, where A and B have as many rows, B less A; what is masked in both has no difference."""
    if len(sides) < 2:
        return sides
    a, b = sides["A"], sides["B"]
    if len(next(iter(a.values()))) != len(next(iter(b.values()))):
        return sides
    with np.errstate(invalid="ignore"):
        return {**sides, DIFFERENCE: {name: b[name] - a[name] for name in a}}
