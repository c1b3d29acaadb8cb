"""How far a circuit depends on the prompts that it was found on: resampled rows, halves, and other circuits."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.selection import EdgeMask, Selection
from headlight.model.circuits.set_scores import EdgeScores
from headlight.model.circuits.units import choose_units, count_units

MIN_ROWS = 4  # two for each half
N_RESAMPLES, N_SPLITS = 200, 50
AT_ONCE = 2**26  # numbers of resampled scores in memory


@dataclass(frozen=True, eq=False)
class Stability:
    """How sure the circuit of n edges is.

    Attributes:
        edges: the circuit of the mean over all rows: its edges, nodes or neurons.
        frequency: the share of resamples of the rows in whose circuit each of them is.
        resamples: the overlap (Jaccard) of each resample's circuit with the circuit.
        halves: the overlap of the circuits of two halves of the rows, for each split.
        by_chance: the expected overlap of two random sets of so many.
        n: how many are taken, of edges before pruning.
    """

    edges: Bool[Tensor, "*unit"]
    frequency: Float[Tensor, "*unit"]
    resamples: Float[Tensor, " resample"]
    halves: Float[Tensor, " split"]
    by_chance: float
    n: int


def stability(
    scores: EdgeScores,
    n: int,
    *,
    selection: Selection = "top",
    n_resamples: int = N_RESAMPLES,
    n_splits: int = N_SPLITS,
    seed: int = 0,
) -> Stability:
    """Resample the rows with replacement, and split them in halves, and compare the circuits of n units.

    Args:
        scores: scores of edges, nodes or neurons by row.
        n: how many a circuit has, of edges before pruning.
        selection: "top" or "greedy".
        n_resamples: how often rows are drawn.
        n_splits: how often they are halved.
        seed: of the draws.

    Raises:
        InputError: fewer rows than halves can be taken of, or a size that there is not.
    """
    n_rows = len(scores.by_row)
    if n_rows < MIN_ROWS:
        raise InputError(
            f"The scores are of {n_rows} {'row' if n_rows == 1 else 'rows'}; resampling takes at least {MIN_ROWS}. "
            "Add prompts to the set."
        )
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n_rows, (n_resamples, n_rows), generator=generator)
    weights = torch.zeros(n_resamples, n_rows).scatter_add_(1, drawn, torch.ones(n_resamples, n_rows)) / n_rows
    edges = choose_units(scores.wires, scores.mean, n, scores.unit, selection)
    frequency, overlaps = torch.zeros(edges.shape), list[Tensor]()
    for circuits in _circuits(scores, weights, n, selection):
        frequency += circuits.sum(0)
        overlaps.append(overlap(circuits, edges, edges.ndim))
    halves = torch.cat(_halves(scores, n_splits, n, selection, generator))
    by_chance = chance_overlap(n, count_units(scores.wires, scores.mean, scores.unit))
    return Stability(edges, frequency / n_resamples, torch.cat(overlaps), halves, by_chance, n)


def overlap(a: Tensor, b: Tensor, n_axes: int = 2) -> Float[Tensor, "*set"]:
    """The Jaccard overlap of circuits: edges in both over edges in either; 1 of two that are empty.

    Args:
        a: bool [*set, receiver, sender], or of nodes or neurons [*set, *unit].
        b: the same, or one circuit.
        n_axes: how many of the last axes are a circuit's.
    """
    both, either = ((x).flatten(-n_axes).sum(-1).float() for x in (a & b, a | b))
    return torch.where(either == 0, 1.0, both / either.clamp(min=1))


def overlaps(circuits: Mapping[str, EdgeMask]) -> Float[Tensor, "circuit circuit"]:
    """The overlaps of all pairs of circuits, such as those of several methods, or of files.

    Raises:
        InputError: circuits of models of different shape.
    """
    shapes = {name: tuple(edges.shape) for name, edges in circuits.items()}
    if len(set(shapes.values())) > 1:
        raise InputError(f"The circuits are of different models: their receivers and senders are {shapes}.")
    stacked = torch.stack(list(circuits.values()))
    return torch.stack([overlap(stacked, edges) for edges in stacked])


def chance_overlap(n: int, n_edges: int) -> float:
    """The overlap to expect of two random sets of n of so many edges: their expected common edges over the union."""
    common = n * n / n_edges
    return common / (2 * n - common) if n else 1.0


def _circuits(scores: EdgeScores, weights: Float[Tensor, "set row"], n: int, selection: Selection) -> list[Tensor]:
    """The circuit of each weighting of the rows, some at a time."""
    by_row, shape = scores.by_row.flatten(1), scores.by_row.shape[1:]
    pieces = weights.split(max(1, AT_ONCE // by_row.shape[1]))
    return [
        choose_units(scores.wires, (piece @ by_row).unflatten(1, shape), n, scores.unit, selection) for piece in pieces
    ]


def _halves(
    scores: EdgeScores, n_splits: int, n: int, selection: Selection, generator: torch.Generator
) -> list[Tensor]:
    """The overlap of each split's two circuits; of an odd number of rows one is left out."""
    n_rows, half = len(scores.by_row), len(scores.by_row) // 2
    orders = torch.stack([torch.randperm(n_rows, generator=generator) for _ in range(n_splits)])
    sides = [
        torch.zeros(n_splits, n_rows).scatter_(1, orders[:, side * half : (side + 1) * half], 1 / half)
        for side in (0, 1)
    ]
    a, b = (_circuits(scores, weights, n, selection) for weights in sides)
    n_axes = scores.by_row.ndim - 1
    return [overlap(one, other, n_axes) for one, other in zip(a, b, strict=True)]
