"""The circuit of run A's prediction, against run B or against means of its own, of a comparison."""

from dataclasses import dataclass
from typing import Literal

from headlight.model.base.errors import InputError
from headlight.model.circuits.finding import Circuit, find_circuit, measure_circuit
from headlight.model.circuits.running import EdgeRuns, Edges, edge_runs_against_means, edge_runs_of
from headlight.model.circuits.scoring import edge_scores
from headlight.model.circuits.wiring import Wiring
from headlight.model.patching.sides import LogitDifference
from headlight.model.runs.comparison import Comparison

Against = Literal["b", "mean"]


@dataclass(frozen=True, eq=False)
class EdgeCircuit:
    """All edges, their scores (logits) [receiver, sender], and the circuit of those that are large enough."""

    wires: Wiring
    scores: Edges
    circuit: Circuit


def circuit_of(
    comparison: Comparison, measured: LogitDifference, steps: int, least: float, against: Against = "b"
) -> EdgeCircuit:
    """The circuit of A: edges whose score is at least a share of the largest, by so many gradients.

    An edge's activation is compared with that in run B, or with its mean over A's own positions.

    Raises:
        InputError: there is no run B, or the runs have no circuit; it says why.
    """
    a, b = comparison.a, comparison.b
    if against == "b" and b is None:
        raise InputError("There is no prompt B: compare run A with a run B, or hold it against its own means.")

    def runs() -> EdgeRuns:
        if b is None or against == "mean":
            return edge_runs_against_means(a, measured)
        return edge_runs_of(a, b, measured, comparison.align)

    def scored() -> tuple[Wiring, Edges]:
        made = runs()
        with a.host.turn():
            return made.wires, edge_scores(made, steps, a.host).cpu()

    def compute_circuit() -> EdgeCircuit:
        wires, scores = comparison.keep(("edge scores", measured, steps, against), scored)
        edges = find_circuit(wires, a.cfg, scores, least)
        made = runs()
        with a.host.turn():
            return EdgeCircuit(wires, scores, measure_circuit(made, edges))

    return comparison.keep(("circuit of edges", measured, steps, least, against), compute_circuit)
