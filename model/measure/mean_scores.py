"""Mean scores of every head's patterns on a prompt, computed during the forward pass."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.measure import Measure, attention


class MeanScores:
    """Mean scores of one prompt's patterns, one a head; values that all share are computed once."""

    def __init__(self, tokens: Int[Tensor, " pos"]) -> None:
        self._tokens, self._cells = tokens, attention.scored_cells(tokens)
        self._apart = attention.distances(len(tokens), len(tokens))

    def __call__(self, pattern: Float[Tensor, "head query key"]) -> dict[str, Measure]:
        entropy, distance = attention.entropy(pattern), attention.mean_distance(pattern, self._apart.to(pattern))
        rows = {"entropy": entropy, "mean_distance": distance}
        means = {name: Measure(row.name, row.unit, ("head",), row.values.mean(-1)) for name, row in rows.items()}
        return means | vars(attention.head_scores(pattern, self._tokens, self._cells))


def side_by_side(heads: list[dict[str, Measure]]) -> dict[str, Measure]:
    """A layer's scores from those of each head."""
    return {
        name: replace(each, values=torch.cat([head[name].values for head in heads])) for name, each in heads[0].items()
    }


def stack(layers: list[dict[str, Measure]]) -> dict[str, Measure]:
    """All layers' scores, one a layer and head, from each layer's."""
    return {
        name: Measure(first.name, first.unit, ("layer", "head"), torch.stack([layer[name].values for layer in layers]))
        for name, first in layers[0].items()
    }
