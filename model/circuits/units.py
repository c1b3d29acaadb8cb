"""What a circuit is chosen from: edges, nodes with all edges that leave them, or the dimensions of nodes' writes."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.running import NeuronMask
from headlight.model.circuits.scoring import Unit
from headlight.model.circuits.selection import EdgeMask, Selection, prune, select_edges, top_edges
from headlight.model.circuits.wiring import Wiring

AXES: dict[Unit, tuple[str, ...]] = {
    "edges": ("receiver", "sender"),
    "nodes": ("sender",),
    "neurons": ("sender", "d_model"),
}


@dataclass(frozen=True, eq=False)
class UnitMask:
    """A circuit as it is run.

    Attributes:
        edges: the edges that carry what the prompt has, pruned.
        neurons: the dimensions of each write that do, where neurons were chosen; then all edges are kept.
    """

    edges: EdgeMask
    neurons: NeuronMask | None = None

    def alone(self, wires: Wiring) -> tuple[EdgeMask, NeuronMask | None]:
        """What of the prompt is kept with the circuit alone."""
        return (self.edges, None) if self.neurons is None else (wires.before, self.neurons)

    def without(self, wires: Wiring) -> tuple[EdgeMask, NeuronMask | None]:
        """What of the prompt is kept with all but the circuit."""
        return (wires.before & ~self.edges, None) if self.neurons is None else (wires.before, ~self.neurons)


def count_units(wires: Wiring, scores: Tensor, unit: Unit) -> int:
    """How many edges, nodes or neurons there are, of scores whose last axes are theirs."""
    return wires.n_edges if unit == "edges" else scores.shape[-len(AXES[unit]) :].numel()


def choose_units(
    wires: Wiring, scores: Tensor, n: int, unit: Unit, selection: Selection = "top", absolute: bool = True
) -> Bool[Tensor, "..."]:
    """The n units with the largest scores of each set of scores [*set, *unit]; of edges those on a way, see `prune`.

    Raises:
        InputError: a number of units that there is not.
    """
    n_all = count_units(wires, scores, unit)
    if not 0 <= n <= n_all:
        raise InputError(f"A circuit of {n:,} {unit} was asked for; the model has 0 to {n_all:,}.")
    sizes = scores.abs() if absolute else scores
    if unit != "edges":
        return _largest(sizes, n, len(AXES[unit]))
    if selection == "top":
        return prune(wires, top_edges(wires, sizes, n))
    sets = sizes.reshape(-1, *wires.before.shape)
    return torch.stack([select_edges(wires, each, n, selection, absolute=False) for each in sets]).view(scores.shape)


def _largest(sizes: Tensor, n: int, n_axes: int) -> Bool[Tensor, "..."]:
    flat = sizes.flatten(-n_axes)
    order = flat.argsort(dim=-1, descending=True, stable=True)[..., :n]
    return torch.zeros_like(flat, dtype=torch.bool).scatter_(-1, order, True).view(sizes.shape)


def unit_mask(wires: Wiring, chosen: Shaped[Tensor, "..."], unit: Unit) -> UnitMask:
    """The circuit of chosen units: of nodes and neurons its edges are all that leave them, and lie on a way."""
    if unit == "edges":
        return UnitMask(chosen)
    nodes = chosen if unit == "nodes" else chosen.any(-1)
    edges = prune(wires, wires.before & nodes)
    return UnitMask(edges) if unit == "nodes" else UnitMask(edges, chosen)
