"""The circuit by which run A's prediction differs from run B's, of a comparison."""

from dataclasses import dataclass

from headlight.model.circuits.finding import Circuit, find_circuit, measure_circuit
from headlight.model.circuits.running import EdgeRuns, Edges, edge_runs_of
from headlight.model.circuits.scoring import edge_scores
from headlight.model.circuits.wiring import Wiring
from headlight.model.comparison import Comparison
from headlight.model.errors import InputError
from headlight.model.patching.sides import LogitDifference


@dataclass(frozen=True, eq=False)
class Found:
    """All edges, their scores (logits) [receiver, sender], and the circuit of those that are large enough."""

    wires: Wiring
    scores: Edges
    circuit: Circuit


def circuit_of(shown: Comparison, measured: LogitDifference, steps: int, least: float) -> Found:
    """The circuit of A against B: edges whose score is at least a share of the largest, by so many gradients.

    Raises:
        InputError: there is no B, or the two runs have no circuit; it says why.
    """
    if shown.b is None:
        raise InputError("A circuit is found by what differs between two prompts: compare run A with a run B.")
    a, b = shown.a, shown.b

    def runs() -> EdgeRuns:
        return edge_runs_of(a, b, measured, shown.align)

    def scored() -> tuple[Wiring, Edges]:
        made = runs()
        with a.host.turn():
            return made.wires, edge_scores(made, steps, a.host).cpu()

    def found() -> Found:
        wires, scores = shown.keep(("edge scores", measured, steps), scored)
        edges = find_circuit(wires, a.cfg, scores, least)
        made = runs()
        with a.host.turn():
            return Found(wires, scores, measure_circuit(made, edges))

    return shown.keep(("circuit of edges", measured, steps, least), found)
