"""Attribution graph: the nodes that contributed to a prediction, and the direct effect along each edge."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from headlight.model.runs.edits import head_name, neuron_name

Kind = Literal[
    "token",
    "head",
    "neuron",
    "feature",
    "heads left out",
    "neurons left out",
    "features left out",
    "error",
    "edits",
    "logit",
]
FOLLOWED: tuple[Kind, ...] = ("head", "neuron", "feature", "logit")
LEFT_OUT: tuple[Kind, ...] = ("heads left out", "neurons left out", "features left out")
UNEXPLAINED: tuple[Kind, ...] = (*LEFT_OUT, "error", "edits")


@dataclass(frozen=True)
class Node:
    """One node: its kind, its layer (None for tokens and logits) and its position.

    `index` is the head, neuron or feature, or the id of a token or of the logit's token; of all else it is None.
    """

    kind: Kind
    position: int
    layer: int | None = None
    index: int | None = None

    @property
    def name(self) -> str:
        """Its name without the position: L1H2, L0 neuron 17, L3 error."""
        match self.kind:
            case "head":
                return head_name((self.layer or 0, self.index or 0))
            case "token":
                return "token"
            case "logit":
                return "logit"
            case "neuron":
                return neuron_name((self.layer or 0, self.index or 0))
            case "feature":
                return f"L{self.layer} feature {self.index}"
        return f"L{self.layer} {self.kind}"

    @property
    def is_followed(self) -> bool:
        """Whether it has edges into it; the others are where the graph begins."""
        return self.kind in FOLLOWED


@dataclass(frozen=True)
class Target:
    """The explained quantity: a token's logit minus that of a distractor, or minus the mean of all without one.

    `value` (logits) is what it was in the run, before any soft cap; `probability` the token's own.
    """

    token: int
    distractor: int | None
    position: int
    value: float
    probability: float


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes, in the order of writing and the target's last of those that are followed, and the edges between them.

    `edges` [followed, node] are what each node gives to each that is followed, in the unit of that one: the edges into
    a node and its `bias` add up to its activation, exactly. `activations` are those of neurons and features; that of a
    head's write is what it does to the target through the nodes of the graph (logits), and that of the target its
    value. `slopes` are by how much the target moves with an activation, and `effects` [node] what a node does to the
    target in all: what it gives to each, times that one's slope, summed. The effects of all nodes that are not
    followed, and the biases times their slopes, add up to the target.

    `tokens` are labels, `texts` the tokens themselves; `target_label` and `target_less`
    are those of the target and the distractor ("" without one). `folded` says that no heads are nodes: they are then
    a part of the edges, as in circuit-tracer. A graph that was opened from a file can have several logits, each with
    its probability in `logit_probabilities`.
    """

    model: str
    prompt: str
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    texts: tuple[str, ...]
    target_text: str
    target_label: str
    target_less: str
    dictionary: str
    folded: bool
    target: Target
    nodes: tuple[Node, ...]
    edges: Float[Tensor, "followed node"]
    bias: Float[Tensor, " followed"]
    activations: Float[Tensor, " followed"]
    slopes: Float[Tensor, " followed"]
    effects: Float[Tensor, " node"]
    n_candidates: int
    logit_probabilities: Float[Tensor, " followed"] | None = None

    @property
    def target_name(self) -> str:
        """The explained quantity in words."""
        less = self.target_less or "the mean of all"
        return f"logit of “{self.target_label}” less {less}"

    def nodes_on(self, places: Sequence[int]) -> tuple[Node, ...]:
        """The nodes with their tokens' places on a common axis as positions."""
        return tuple(replace(node, position=places[node.position]) for node in self.nodes)

    @property
    def n_followed(self) -> int:
        """Number of nodes that are followed, which come first, the target's logit included."""
        return len(self.edges)

    @property
    def logit(self) -> int:
        """The place of the target's logit among the nodes."""
        return self.n_followed - 1

    @property
    def flows(self) -> Float[Tensor, "followed node"]:
        """Each edge's contribution to the target (logits); edges out of a node sum to its effect."""
        return self.edges * self.slopes[:, None]
