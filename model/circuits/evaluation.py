"""What circuits of growing size do alone, and what is left without them, over a set of prompts.

Source: Mueller et al. 2025, "MIB: A Mechanistic Interpretability Benchmark", arXiv 2504.13151, and its program
hannamw/MIB-circuit-track for the sizes and the two areas.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.running import Edges
from headlight.model.circuits.selection import EdgeMask, Selection
from headlight.model.circuits.set_scores import EdgeScores, PreparedSet, Rows
from headlight.model.circuits.units import UnitMask, choose_units, count_units, unit_mask
from headlight.model.circuits.wiring import wiring
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.metric import Metric
from headlight.model.runs.host import HERE, Host, Steps

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of all edges, MIB's
N_RESAMPLES = 1_000
TENSORS = ("clean", "other", "alone", "without")  # of an `Evaluation`, with an axis of rows
SAME = 1e-6  # a difference of means that leaves nothing to take a share of


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Circuits of growing size over rows of a set.

    Attributes:
        shares: how many of all edges, nodes or neurons were taken, as a share.
        n_edges: the edges that each circuit has after pruning; of neurons those that carry any of them.
        clean: the metric of each row's prompt.
        other: the metric with every edge from the baseline.
        alone: the metric with the circuit's edges alone, by size.
        without: the metric with all but the circuit's edges, by size.
        numbers: the rows' numbers.
    """

    shares: tuple[float, ...]
    n_edges: tuple[int, ...]
    clean: Float[Tensor, " row"]
    other: Float[Tensor, " row"]
    alone: Float[Tensor, "size row"]
    without: Float[Tensor, "size row"]
    numbers: tuple[int, ...]

    @property
    def faithfulness(self) -> Float[Tensor, " size"]:
        """How far each circuit alone brings the metric from the baseline's (0) to the prompts' (1), not clipped."""
        return self._share(self.alone)

    @property
    def completeness(self) -> Float[Tensor, " size"]:
        """The same of all but the circuit: 0 where nothing outside it can do what it does."""
        return self._share(self.without)

    @property
    def cpr(self) -> float:
        """MIB's circuit performance ratio: the area under faithfulness over the share of edges; more is better."""
        return float(torch.trapezoid(self.faithfulness, torch.tensor(self.shares, dtype=torch.float64)))

    @property
    def cmd(self) -> float:
        """MIB's circuit-model distance: the area between faithfulness and 1; 0 is best."""
        return float(torch.trapezoid((1 - self.faithfulness).abs(), torch.tensor(self.shares, dtype=torch.float64)))

    def interval(self, values: Float[Tensor, "size row"], seed: int = 0) -> tuple[Tensor, Tensor]:
        """The ends of the 95% bootstrap interval over rows of the share that `alone` or `without` has, by size."""
        n_rows = len(self.numbers)
        drawn = torch.randint(n_rows, (N_RESAMPLES, n_rows), generator=torch.Generator().manual_seed(seed))
        clean, other = (each.double()[drawn].mean(1) for each in (self.clean, self.other))
        shares = (values.double()[:, drawn].mean(2) - other) / (clean - other)
        low, high = shares.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64), 1)
        return low, high

    def _share(self, values: Float[Tensor, "size row"]) -> Float[Tensor, " size"]:
        clean, other = self.clean.double().mean(), self.other.double().mean()
        return (values.double().mean(1) - other) / (clean - other)


def evaluate(
    model: Transformer,
    rows: Rows,
    scores: EdgeScores,
    *,
    shares: Sequence[float] = SHARES,
    selection: Selection = "top",
    absolute: bool = True,
    baseline: Baseline | None = None,
    kind: Metric = "logit_diff",
    mean_over: Rows | None = None,
    host: Host = HERE,
) -> Evaluation:
    """Measure the circuits that scores choose, best on rows that were held out of scoring.

    Args:
        model: the model.
        rows: the rows to measure on; `split_rows` holds some out.
        scores: scores of edges, of nodes, of which a circuit has all edges that leave them, or of neurons, of which a
            circuit has all edges with these dimensions of what is written.
        shares: the circuits' sizes as shares of all edges, nodes or neurons, ascending, above 0 and at most 1.
        selection: "top" or "greedy", see `select_edges`.
        absolute: whether scores count by their size.
        baseline: where the edges outside come from; by default as scored.
        kind: the metric.
        mean_over: the rows that the means of a baseline are taken over; by default `rows`.
        host: whom to tell of progress.

    Raises:
        InputError: shares that are none, scores of another model, rows without the baseline, or prompts whose mean
            metric is the baseline's.
    """
    _check(model, scores, shares)
    circuits = circuits_by_share(scores, shares, selection, absolute)
    return measure(model, rows, circuits, shares, baseline or scores.baseline, kind, mean_over, host)


def circuits_by_share(
    scores: EdgeScores, shares: Sequence[float], selection: Selection = "top", absolute: bool = True
) -> list[UnitMask]:
    """The circuits that have these shares of all edges, nodes or neurons."""
    wires, mean, unit = scores.wires, scores.mean, scores.unit
    n_units = count_units(wires, mean, unit)
    chosen = (choose_units(wires, mean, int(share * n_units), unit, selection, absolute) for share in shares)
    return [unit_mask(wires, units, unit) for units in chosen]


def measure(
    model: Transformer,
    rows: Rows,
    circuits: Sequence[UnitMask],
    shares: Sequence[float],
    baseline: Baseline = "pair",
    kind: Metric = "logit_diff",
    mean_over: Rows | None = None,
    host: Host = HERE,
) -> Evaluation:
    """Measure circuits over rows, such as those of a file.

    Raises:
        InputError: rows without the baseline, or prompts whose mean metric is the baseline's.
    """
    result = run_circuits(PreparedSet(model, rows, baseline, kind, mean_over), circuits, shares, host)
    check_difference(result)
    return result


def run_circuits(
    prepared: PreparedSet, circuits: Sequence[UnitMask], shares: Sequence[float], host: Host = HERE
) -> Evaluation:
    """Run rows with all edges, with none, with each circuit alone, and with all but it."""
    wires, whole = wiring(prepared.model.cfg), wiring(prepared.model.cfg).before
    kept: list[tuple[Tensor, Tensor | None]] = [(whole, None), (torch.zeros_like(whole), None)]
    kept += [circuit.alone(wires) for circuit in circuits] + [circuit.without(wires) for circuit in circuits]
    counted = Steps(host, len(prepared.rows) * len(kept))
    outcomes = torch.zeros(len(kept), len(prepared.rows))
    for places, runs in prepared.batches():
        for which, (edges, neurons) in enumerate(kept):
            device = runs.clean.device
            with host.turn(), torch.inference_mode():
                outcome = runs.run(edges.to(device), neurons=None if neurons is None else neurons.to(device))
            outcomes[which, places] = outcome.cpu()
            counted.add(len(places))
    clean, other, alone, without = outcomes.split([1, 1, len(circuits), len(circuits)])
    sizes = tuple(int(circuit.edges.sum()) for circuit in circuits)
    return Evaluation(tuple(shares), sizes, clean[0], other[0], alone, without, prepared.numbers)


def check_difference(result: Evaluation) -> None:
    """Refuse what leaves no share to measure.

    Raises:
        InputError: the mean metric of the prompts is the baseline's.
    """
    clean, other = float(result.clean.mean()), float(result.other.mean())
    if abs(clean - other) <= SAME:
        raise InputError(
            f"The mean of the metric is {clean:.6f} over the prompts and {other:.6f} with every edge from the "
            "baseline: with no difference there is no share of it to measure. Choose prompts that the model answers "
            "differently, or another baseline."
        )


def join_evaluations(parts: Sequence[Evaluation]) -> Evaluation:
    """The same circuits over the rows of several parts, in the order of the rows' numbers."""
    numbers = [number for part in parts for number in part.numbers]
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    clean, other, alone, without = (
        torch.cat([getattr(part, name) for part in parts], -1)[..., order] for name in TENSORS
    )
    ordered = tuple(numbers[place] for place in order)
    return replace(parts[0], clean=clean, other=other, alone=alone, without=without, numbers=ordered)


def edge_auroc(scores: Edges, truth: EdgeMask, edges: EdgeMask) -> float:
    """The area under the ROC curve of edges by the size of their scores, against edges that are known.

    It is the chance that an edge of the circuit has a larger score than one outside it; equal ones count half.

    Args:
        scores: the scores.
        truth: the edges of the circuit.
        edges: the edges that there are.

    Raises:
        InputError: all edges or none are in the circuit.
    """
    sizes, inside = scores.abs()[edges].double(), truth[edges]
    if not 0 < int(inside.sum()) < len(inside):
        raise InputError(f"{int(inside.sum())} of {len(inside)} edges are in the circuit; it takes some, and some not.")
    difference = sizes[inside][:, None] - sizes[~inside]
    return float(((difference > 0).double() + 0.5 * (difference == 0)).mean())


def _check(model: Transformer, scores: EdgeScores, shares: Sequence[float]) -> None:
    if not shares or not all(0 < share <= 1 for share in shares) or list(shares) != sorted(set(shares)):
        raise InputError(f"The sizes are {list(shares)}; give ascending shares of the edges, above 0 and at most 1.")
    check_wiring(model, scores)


def check_wiring(model: Transformer, scores: EdgeScores) -> None:
    """Refuse scores of another model.

    Raises:
        InputError: the model has other edges.
    """
    if wiring(model.cfg).receivers != scores.wires.receivers or wiring(model.cfg).senders != scores.wires.senders:
        raise InputError(
            f"The scores are of {scores.wires.n_edges:,} edges of another model; this one has "
            f"{wiring(model.cfg).n_edges:,}. Score the edges of this model."
        )
