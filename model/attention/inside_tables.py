"""Steps of one head: scores and weights of a query, and every vector from the stream to the head's output."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headlight.model.measure.alignment import on_axis
from headlight.model.measure.difference import with_difference
from headlight.model.measure.head_steps import HeadSteps
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.head import inside
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Table, Tables, columns, known, tokens_of

Columns = dict[str, Float[Tensor, "_"]]


@dataclass(frozen=True, eq=False)
class HeadAt:
    """One head at one query of one run, and the key that is followed: all positions are the run's own."""

    run: Run
    head: Head
    query: int
    key: int
    steps: HeadSteps


def inside_tables(comparison: Comparison, head: Head, query: int, key: int | None = None) -> Tables:
    """Tabulate one head at one query: scores and weights per key, components of q, k, v and z, and the stream.

    Args:
        comparison: one run, or two to compare.
        head: (layer, head).
        query: place of the query on the common axis.
        key: place of the key; by default the query's strongest.
    """
    heads = {side: head_at(comparison, side, head, query, key) for side in comparison.sides}
    return head_tables(comparison, {side: at for side, at in heads.items() if at is not None})


def head_at(comparison: Comparison, side: str, head: Head, query: int, key: int | None) -> HeadAt | None:
    """A head of A or of B at a query; None where that run has no token there.

    Without a key, or where the run has no token there, it is the query's strongest.
    """
    run = comparison.sides[side]
    positions = comparison.positions(run)
    position = positions[query]
    if position is None:
        return None
    steps = run.keep(("inside", head, position), lambda: inside(run, *head, position))
    followed = None if key is None else positions[key]
    if followed is None:
        followed = int(steps.weights.values.argmax())
    return HeadAt(run, head, position, followed, steps)


def head_tables(comparison: Comparison, sides: Mapping[str, HeadAt]) -> Tables:
    """Tabulate these heads at their queries."""
    return {
        "tokens": tokens_of(comparison),
        "keys": _table("place", by_key(comparison, sides)),
        "components": _table("component", by_component(sides)),
        "entries": _table("entry", by_entry(sides)),
    }


def by_key(comparison: Comparison, sides: Mapping[str, HeadAt]) -> dict[str, Columns]:
    """The query's scores and weights per key on the common axis, NaN where a run has no token; with B - A."""
    return _compared(
        {
            side: {
                name: on_axis(values, comparison.positions(at.run), torch.nan)
                for name, values in (
                    ("q · k", at.steps.dots.values),
                    ("q · k / scale", at.steps.scores.values),
                    ("masked score", at.steps.masked.values),
                    ("exp(score − max)", at.steps.exponentials.values),
                    ("attention weight", at.steps.weights.values),
                )
            }
            for side, at in sides.items()
        }
    )


def by_component(sides: Mapping[str, HeadAt]) -> dict[str, Columns]:
    """The query's vector, the followed key's vector and value, and the weighted sum of values. With B - A."""
    return _compared({side: _components(at) for side, at in sides.items()})


def _components(at: HeadAt) -> Columns:
    q, k, v = at.steps.q.values, at.steps.k.values[at.key], at.steps.v.values[at.key]
    vectors = {"q": q, "k": k, "q × k": q * k, "v": v, "z": at.steps.z.values}
    return dict(zip(vectors, pad_sequence(list(vectors.values()), True, torch.nan), strict=True))


def by_entry(sides: Mapping[str, HeadAt]) -> dict[str, Columns]:
    """The query's stream, the head's input, and the head's write to the stream. With B - A."""
    return _compared(
        {
            side: {
                "stream": at.steps.stream.values[at.query],
                "as it is read": at.steps.read.values[at.query],
                "output": at.steps.output.values,
            }
            for side, at in sides.items()
        }
    )


def _compared(sides: dict[str, Columns]) -> dict[str, Columns]:
    """Add B - A where both have the same number of rows; masked entries have no difference."""
    if len(sides) < 2:
        return sides
    a, b = sides["A"], sides["B"]
    if len(next(iter(a.values()))) != len(next(iter(b.values()))):
        return sides
    return with_difference(sides)


def _table(index: str, sides: Mapping[str, Columns]) -> Table:
    """One row an index and run, those of B - A last; a row of which nothing is known is left out."""
    names = next(iter(sides.values()), {})
    rows = ((side, *at, *row) for side, by_name in sides.items() for at, row in known(by_name.values()))
    return columns(["run", index, *names], rows)
