"""Mean scores of every head's patterns on a prompt, computed during the forward pass."""

from functools import lru_cache, partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.measure import Measure, attention

LEAST = -80.0  # of a shifted score: its weight counts for nothing, and processors take long for smaller exponentials


class MeanScores:
    """Mean scores of one prompt's patterns, one a head, of all rows at once or of some at a time.

    What heads share is computed once: call `sums` for the same rows of all heads in turn.
    """

    def __init__(self, tokens: Int[Tensor, " pos"]) -> None:
        self._tokens = tokens
        self._n_rows = {"entropy": len(tokens), "mean_distance": len(tokens)} | attention.n_scored(tokens)
        self._cells = lru_cache(maxsize=1)(partial(attention.scored_cells, tokens))
        self._distances = lru_cache(maxsize=1)(attention.distances)
        self._memory = torch.empty(0)

    def __call__(self, pattern: Float[Tensor, "head pos pos"]) -> dict[str, Measure]:
        """Each head's mean scores."""
        return self.means(self.sums(pattern))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scores, in their order."""
        return tuple(self._n_rows)

    def sums(self, rows: Float[Tensor, "head query key"], first_query: int = 0) -> Float[Tensor, "score head"]:
        """Each score's sum over some queries, from the first of them on, and the keys that they see."""
        n_queries, n_keys = rows.shape[1:]
        apart, cells = self._distances(n_queries, n_keys, first_query), self._cells(first_query, n_queries, n_keys)
        of_rows = attention.entropy(rows), attention.mean_distance(rows, apart.to(rows))
        return torch.stack([*(each.values.sum(-1) for each in of_rows), *attention.sum_cells(rows, cells).values()])

    def sums_of_scores(
        self, scores: Float[Tensor, "query key"], first_query: int, size: int
    ) -> tuple[Float[Tensor, "query columns"], Float[Tensor, " score"]]:
        """Columns of a thumbnail, and each score's sum, of one head's causal scores before the softmax, overwritten.

        It is what `sums` has of their softmax, without going through the rows once more for their logarithms. Keys that
        a query does not see have a huge negative score; those that none of the queries sees may be left out, and of
        the columns too.
        """
        scores.sub_(scores.amax(-1, keepdim=True)).clamp_(min=LEAST)
        weights = torch.softmax(scores, -1, out=self._like(scores))
        pooled = attention.pool_keys(weights, len(self._tokens), size)
        back = first_query - torch.arange(float(scores.shape[1]))  # from the first of the queries: little where near
        distance = weights @ back + torch.arange(float(len(scores)))
        entropy = -pooled.amax(-1).log() - scores.mul_(weights).sum(-1)  # the largest score is 0, its weight 1 / total
        cells = self._cells(first_query, *scores.shape).values()
        of_cells = [weights.take(each).sum() for each in cells]
        return pooled, torch.stack([entropy.sum(), distance.sum(), *of_cells])

    def _like(self, scores: Float[Tensor, "query key"]) -> Float[Tensor, "query key"]:
        """Memory of the same shape, the same for all heads, so that it stays in the processor's cache."""
        if self._memory.numel() < scores.numel():
            self._memory = torch.empty(scores.numel())
        return self._memory[: scores.numel()].view_as(scores)

    def means(self, sums: Float[Tensor, "score head"]) -> dict[str, Measure]:
        """The mean scores from their sums over all queries."""
        means = {name: each / n for each, (name, n) in zip(sums, self._n_rows.items(), strict=True)}
        return {
            "entropy": Measure("attention entropy", "nats", ("head",), means.pop("entropy")),
            "mean_distance": Measure("mean attended distance", "tokens", ("head",), means.pop("mean_distance")),
            **{name: Measure(name.replace("_", " "), "probability", ("head",), mean) for name, mean in means.items()},
        }


def stack(layers: list[dict[str, Measure]]) -> dict[str, Measure]:
    """All layers' scores, one a layer and head, from each layer's."""
    return {
        name: Measure(first.name, first.unit, ("layer", "head"), torch.stack([layer[name].values for layer in layers]))
        for name, first in layers[0].items()
    }
