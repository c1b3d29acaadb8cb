"""A circuit: some edges, and what the model does with these alone, and without them."""

from dataclasses import dataclass

import torch

from headlight.model.circuits.running import EdgeRuns
from headlight.model.circuits.selection import EdgeMask


@dataclass(frozen=True, eq=False)
class Circuit:
    """Edges that are kept, and target less distractor (logits) of four runs.

    `a` is run A, `b` is that with all edges from B, which is run B where every position is matched; `alone` is the run
    in which all other edges are B's, `without` that in which the circuit's are.
    """

    edges: EdgeMask
    a: float
    b: float
    alone: float
    without: float

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.edges.sum())

    @property
    def faithfulness(self) -> float:
        """Share of the logit difference, from B's (0) to A's (1), that the circuit alone restores; not clipped."""
        return (self.alone - self.b) / (self.a - self.b)

    @property
    def completeness(self) -> float:
        """Completeness: the same for all edges but the circuit; 0 where nothing outside it can replace it."""
        return (self.without - self.b) / (self.a - self.b)


@torch.inference_mode()
def measure_circuit(runs: EdgeRuns, edges: EdgeMask) -> Circuit:
    """Run the model with these edges alone, all others being B's, and with all but these."""
    whole = runs.wires.before
    kept = edges & whole
    runs_of = (whole, torch.zeros_like(whole), kept, whole & ~kept)
    return Circuit(kept, *(float(runs.run(each)[0]) for each in runs_of))
