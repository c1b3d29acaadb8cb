"""Mean scores of every head's patterns on a prompt, computed during the forward pass."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.measure import Measure, attention


class _Shared(NamedTuple):
    """What the scores of some rows take beside the pattern: distances, and the cells that are summed."""

    rows: tuple[int, int, int]
    apart: Float[Tensor, "query key"]
    cells: attention.Cells


class MeanScores:
    """Mean scores of one prompt's patterns, one a head, of all rows at once or of some at a time.

    What heads share is computed once: call `sums` for the same rows of all heads in turn.
    """

    def __init__(self, tokens: Int[Tensor, " pos"]) -> None:
        self._tokens = tokens
        self._n_rows = {"entropy": len(tokens), "mean_distance": len(tokens)} | attention.n_scored(tokens)
        self._shared: _Shared | None = None

    def __call__(self, pattern: Float[Tensor, "head pos pos"]) -> dict[str, Measure]:
        """Each head's mean scores."""
        return self.means(self.sums(pattern))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scores, in their order."""
        return tuple(self._n_rows)

    def sums(self, rows: Float[Tensor, "head query key"], first_query: int = 0) -> Float[Tensor, "score head"]:
        """Each score's sum over some queries, from the first of them on, and the keys that they see."""
        _, apart, cells = self._share(first_query, *rows.shape[1:])
        of_rows = attention.entropy(rows), attention.mean_distance(rows, apart.to(rows))
        return torch.stack([*(each.values.sum(-1) for each in of_rows), *attention.sum_cells(rows, cells).values()])

    def means(self, sums: Float[Tensor, "score head"]) -> dict[str, Measure]:
        """The mean scores from their sums over all queries."""
        means = {name: each / n for each, (name, n) in zip(sums, self._n_rows.items(), strict=True)}
        return {
            "entropy": Measure("attention entropy", "nats", ("head",), means.pop("entropy")),
            "mean_distance": Measure("mean attended distance", "tokens", ("head",), means.pop("mean_distance")),
            **{name: Measure(name.replace("_", " "), "probability", ("head",), mean) for name, mean in means.items()},
        }

    def _share(self, first_query: int, n_queries: int, n_keys: int) -> _Shared:
        """Distances and cells of the queries from one on, so many of them, and of so many keys."""
        rows = (first_query, n_queries, n_keys)
        if self._shared is None or self._shared.rows != rows:
            apart = attention.distances(n_queries, n_keys, first_query)
            self._shared = _Shared(rows, apart, attention.scored_cells(self._tokens, *rows))
        return self._shared


def stack(layers: list[dict[str, Measure]]) -> dict[str, Measure]:
    """All layers' scores, one a layer and head, from each layer's."""
    return {
        name: Measure(first.name, first.unit, ("layer", "head"), torch.stack([layer[name].values for layer in layers]))
        for name, first in layers[0].items()
    }
