"""The circuit of run A's prediction, against run B, means of its own or zeros, of a comparison."""

from dataclasses import dataclass
from typing import Literal

from headlight.model.base.errors import InputError
from headlight.model.circuits.finding import Circuit, measure_circuit
from headlight.model.circuits.preparing import edge_runs_against_means, edge_runs_against_zero, edge_runs_of
from headlight.model.circuits.running import EdgeRuns, Edges
from headlight.model.circuits.scoring import Method, score
from headlight.model.circuits.selection import above_share
from headlight.model.circuits.wiring import Wiring
from headlight.model.patching.sides import LogitDifference
from headlight.model.runs.comparison import Comparison

Against = Literal["b", "mean", "zero"]


@dataclass(frozen=True, eq=False)
class EdgeCircuit:
    """All edges, their scores (logits) [receiver, sender], and the circuit of those that are large enough."""

    wires: Wiring
    scores: Edges
    circuit: Circuit


def circuit_of(
    comparison: Comparison,
    measured: LogitDifference,
    steps: int,
    least: float,
    against: Against = "b",
    method: Method = "eap_ig_inputs",
    n_edges: int | None = None,
) -> EdgeCircuit:
    """The circuit of A: the edges with at least a share of the largest score, at most the `n_edges` largest of them.

    An edge's activation is compared with that in run B, with its mean over A's own positions, or with zero.

    Raises:
        InputError: there is no run B, the runs have no circuit, or the method does not fit; it says why.
    """
    a, b = comparison.a, comparison.b
    if against == "b" and b is None:
        raise InputError("There is no prompt B: compare run A with a run B, or hold it against its own means.")

    def runs() -> EdgeRuns:
        if against == "b" and b is not None:
            return edge_runs_of(a, b, measured, comparison.align)
        return (edge_runs_against_zero if against == "zero" else edge_runs_against_means)(a, measured)

    def scored() -> tuple[Wiring, Edges]:
        made = runs()
        with a.host.turn():
            return made.wires, score(made, method, steps, host=a.host)[0].cpu()

    def compute_circuit() -> EdgeCircuit:
        wires, scores = comparison.keep(("edge scores", measured, steps, against, method), scored)
        edges = above_share(wires, scores, least, n_edges)
        made = runs()
        with a.host.turn():
            return EdgeCircuit(wires, scores, measure_circuit(made, edges))

    return comparison.keep(("circuit of edges", measured, steps, least, against, method, n_edges), compute_circuit)
