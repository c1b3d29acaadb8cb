"""A circuit of a set of prompts in one call: scored, measured on held-out rows, and resampled; and its tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from headlight.model.circuits.evaluation import SHARES, Evaluation, circuit_edges, evaluate
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.scoring import DEFAULT_STEPS, Method
from headlight.model.circuits.selection import EdgeMask, Selection, select_edges, strongest
from headlight.model.circuits.set_scores import EdgeScores, Rows, edge_scores, split_rows
from headlight.model.circuits.stability import MIN_ROWS, Stability, overlaps, stability
from headlight.model.circuits.wiring import Wiring
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.metric import Metric
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.tables import Tables, columns

CURVE = ("share of the edges", "edges", "faithfulness", "completeness")
SURE_EDGES = ("from", "to", "score", "share of resamples")
OVERLAPS = ("circuits", "overlap (Jaccard)")


@dataclass(frozen=True, eq=False)
class CircuitStudy:
    """A circuit of n edges over a set: its scores, its curve on held-out rows, and how sure it is.

    `stability` is None of fewer rows than can be resampled. `others` are circuits that it is compared with, by name:
    other methods', or those of files.
    """

    scores: EdgeScores
    edges: EdgeMask
    evaluation: Evaluation
    stability: Stability | None
    others: Mapping[str, EdgeMask]

    @property
    def wires(self) -> Wiring:
        """The model's edges."""
        return self.scores.wires


def study_circuit(
    model: Transformer,
    rows: Rows,
    n_edges: int,
    method: Method = "eap_ig_inputs",
    baseline: Baseline = "pair",
    *,
    steps: int = DEFAULT_STEPS,
    kind: Metric = "logit_diff",
    selection: Selection = "top",
    held_out: float = 0.5,
    seed: int = 0,
    others: Mapping[str, EdgeMask] | None = None,
    host: Host = HERE,
) -> CircuitStudy:
    """Score edges on some rows of a set, measure circuits of all sizes on the others, and resample the rows.

    Args:
        model: the model.
        rows: the set in tokens.
        n_edges: size of the circuit that is drawn and resampled, before pruning.
        method: how edges are scored.
        baseline: where the edges outside come from.
        steps: points of integrated gradients.
        kind: the metric.
        selection: "top" or "greedy".
        held_out: share of the rows to measure on.
        seed: of the split and the resamples.
        others: circuits to compare with, by name.
        host: whom to tell of progress.

    Raises:
        InputError: what the parts refuse: too few rows, no baseline, a circuit of another model.
    """
    train, test = split_rows(rows, held_out, seed)
    scores = edge_scores(model, train, method, baseline, steps=steps, kind=kind, host=host)
    evaluation = evaluate(model, test, scores, selection=selection, kind=kind, mean_over=train, host=host)
    sure = stability(scores, n_edges, selection=selection, seed=seed) if len(train) >= MIN_ROWS else None
    return CircuitStudy(
        scores, select_edges(scores.wires, scores.mean, n_edges, selection), evaluation, sure, others or {}
    )


def study_tables(study: CircuitStudy) -> Tables:
    """The curve, the circuit's edges with how often a resample has them, and the overlaps with other circuits."""
    result, wires = study.evaluation, study.wires
    curve = zip(SHARES, result.n_edges, result.faithfulness.tolist(), result.completeness.tolist(), strict=True)
    edges = [
        (
            wires.senders[sender].name,
            wires.receivers[receiver].name,
            float(study.scores.mean[receiver, sender]),
            None if study.stability is None else float(study.stability.frequency[receiver, sender]),
        )
        for receiver, sender in strongest(study.scores.mean, study.edges)
    ]
    areas = (("CPR", result.cpr), ("CMD", result.cmd))
    return {
        "curve": columns(CURVE, list(curve)),
        "areas": columns(("area", "value"), areas),
        "edges": columns(SURE_EDGES, edges),
        "overlaps": columns(OVERLAPS, _overlap_rows(study)),
    }


def _overlap_rows(study: CircuitStudy) -> list[tuple[str, float]]:
    rows: list[tuple[str, float]] = []
    if study.stability is not None:
        sure = study.stability
        rows = [
            ("a resample's and this one, mean", float(sure.resamples.mean())),
            ("two halves', mean", float(sure.halves.mean())),
            ("two random sets of edges", sure.by_chance),
        ]
    named = {"this one": study.edges, **study.others}
    table = overlaps(named)[0].tolist()
    return rows + [(f"this one and {name}", share) for name, share in zip(named, table, strict=True)][1:]


def method_circuits(
    model: Transformer, rows: Rows, methods: Mapping[str, Method], share: float, baseline: Baseline = "pair"
) -> dict[str, EdgeMask]:
    """The circuits of several methods that have a share of the edges, to be compared.

    Raises:
        InputError: as `edge_scores`.
    """
    scored = {name: edge_scores(model, rows, method, baseline) for name, method in methods.items()}
    return {name: circuit_edges(scores, scores.mean, share) for name, scores in scored.items()}
