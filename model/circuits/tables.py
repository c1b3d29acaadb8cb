"""A circuit of edges in tables: its effect alone, that of all other edges, and every edge's score."""

from headlight.model.circuits.of_runs import Against, EdgeCircuit, circuit_of
from headlight.model.circuits.scoring import Method
from headlight.model.circuits.selection import strongest
from headlight.model.patching.sides import LogitDifference
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.tables import Tables, columns, tokens_of

STEPS, MIN_SHARE = 10, 0.01
RUNS = ("run", "target less distractor (logits)", "share of the way to A")
BASELINES = {"b": "B", "mean": "every edge at its mean", "zero": "every edge at zero"}
EDGES = ("from", "to", "score (logits)")


def edge_tables(
    comparison: Comparison,
    measured: LogitDifference,
    steps: int = STEPS,
    least: float = MIN_SHARE,
    against: Against = "b",
    method: Method = "eap_ig_inputs",
    n_edges: int | None = None,
) -> Tables:
    """Find the circuit behind A's prediction by edge attribution patching, and tabulate its faithfulness and edges.

    An edge belongs to the circuit if its score is at least `least` times the largest, by absolute value, if it is one
    of the `n_edges` largest, and if it lies on a path from the embeddings to the logits.

    Args:
        comparison: run A, and run B for `against="b"`.
        measured: the logit difference that the circuit explains.
        steps: interpolation steps from A's embeddings to B's, or to their mean, for integrated gradients.
        least: threshold as a share of the largest score.
        against: whether ablated edges carry run B's activations ("b"), A's mean activations ("mean") or zeros ("zero").
        method: how edges are scored; see `model.circuits.scoring.score`.
        n_edges: the most edges that are taken; by default all above the threshold.

    Source: Syed et al. 2023, "Attribution Patching Outperforms Automated Circuit Discovery".

    Raises:
        InputError: there is no run B, or the runs have no circuit.
    """
    result = circuit_of(comparison, measured, steps, least, against, method, n_edges)
    circuit = result.circuit
    runs = (
        ("A", circuit.a, 1.0),
        (BASELINES[against], circuit.b, 0.0),
        (f"the circuit alone ({circuit.n_edges} of {result.wires.n_edges} edges)", circuit.alone, circuit.faithfulness),
        ("all but the circuit", circuit.without, circuit.completeness),
    )
    return {"tokens": tokens_of(comparison), "runs": columns(RUNS, runs), "edges": columns(EDGES, edge_rows(result))}


def edge_rows(result: EdgeCircuit) -> list[tuple[str, str, float]]:
    """The circuit's edges, those with the largest scores first."""
    senders, receivers = result.wires.senders, result.wires.receivers
    return [
        (senders[sender].name, receivers[receiver].name, float(result.scores[receiver, sender]))
        for receiver, sender in strongest(result.scores, result.circuit.edges)
    ]
