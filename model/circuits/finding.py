"""A circuit: the edges whose scores are large enough, and what the model does with these alone, and without them."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.running import EdgeRuns, Edges
from headlight.model.circuits.wiring import Sender, Wiring
from headlight.model.nn.config import TransformerConfig


@dataclass(frozen=True, eq=False)
class Circuit:
    """Edges [receiver, sender] that are kept, and target less distractor (logits) of four runs.

    `a` is run A, `b` is that with all edges from B, which is run B where every position is matched; `alone` is the run
    in which all other edges are B's, `without` that in which the circuit's are.
    """

    edges: Bool[Tensor, "receiver sender"]
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
        """The same of all but the circuit: 0 where nothing outside it can do what it does."""
        return (self.without - self.b) / (self.a - self.b)


def find_circuit(wires: Wiring, cfg: TransformerConfig, scores: Edges, least: float) -> Bool[Tensor, "receiver sender"]:
    """The edges whose score is at least this share of the largest, by size, and that lie on a way to the logits.

    A way begins at the embeddings. It enters a head by its query, key or value; a head that is only looked at, and of
    which no value comes in, still writes, by its biases and by what it mixes in both runs.

    Raises:
        InputError: a share that is none.
    """
    if not 0 < least <= 1:
        raise InputError(f"The least score is {least} of the largest; it has to be above 0 and at most 1.")
    sizes = scores.abs()
    kept = (sizes >= least * sizes.max()) & (sizes > 0) & wires.before
    while True:
        left = kept & _reached(wires, cfg, kept) & _leading(wires, cfg, kept)[:, None]
        if bool((left == kept).all()):
            return kept
        kept = left


def _reached(wires: Wiring, cfg: TransformerConfig, kept: Tensor) -> Bool[Tensor, " sender"]:
    """Senders into whose part an edge leads, and the embeddings."""
    reached = torch.zeros(len(wires.senders), dtype=torch.bool)
    reached[wires.senders.index(Sender())] = True
    for row, receiver in enumerate(wires.receivers):
        if bool(kept[row].any()):
            reached[wires.continues(receiver, cfg)] = True
    return reached


def _leading(wires: Wiring, cfg: TransformerConfig, kept: Tensor) -> Bool[Tensor, " receiver"]:
    """Receivers whose part an edge leads out of, and the logits."""
    out = kept.any(0)
    return torch.tensor(
        [receiver.layer is None or bool(out[wires.continues(receiver, cfg)].any()) for receiver in wires.receivers]
    )


@torch.inference_mode()
def measure_circuit(runs: EdgeRuns, edges: Bool[Tensor, "receiver sender"]) -> Circuit:
    """Run the model with these edges alone, all others being B's, and with all but these."""
    whole = runs.wires.before
    kept = edges & whole
    runs_of = (whole, torch.zeros_like(whole), kept, whole & ~kept)
    return Circuit(kept, *(float(runs.run(each.float())) for each in runs_of))


def strongest(scores: Edges, edges: Bool[Tensor, "receiver sender"]) -> list[tuple[int, int]]:
    """The edges (receiver, sender) that are kept, those with the largest scores first."""
    kept: Float[Tensor, "receiver sender"] = scores.abs() * edges
    order = kept.flatten().argsort(descending=True, stable=True)[: int(edges.sum())]
    return [(int(at) // scores.shape[1], int(at) % scores.shape[1]) for at in order]
