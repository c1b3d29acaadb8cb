"""Choices of the page *Graph*."""

import json
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from headlight.app.selection.choices import PageChoices
from headlight.app.selection.codecs import Codec, count, number
from headlight.model.circuits.of_runs import Against
from headlight.model.circuits.scoring import Method

Less = Literal["distractor", "mean"]
Mode = Literal["graph", "circuit"]
Groups = tuple[tuple[str, tuple[str, ...]], ...]  # a name, and the ids of the nodes that it stands for

SHARES = 0.1, 1.0  # of the influence, the least and the most
NODE_LIMITS = 10, 1000  # nodes
EDGE_LIMITS = 1, 1_000_000  # edges
LEAST = 0.001, 1.0  # of the largest score
STEPS = 1, 50
LONGEST, MAX_GROUPS, MAX_IN_GROUP = 60, 40, 200


def _groups_text(groups: Groups) -> str:
    return json.dumps([[name, *ids] for name, ids in groups], ensure_ascii=False, separators=(",", ":"))


def _groups(text: str) -> Groups:
    try:
        raw = json.loads(text)
    except RecursionError as error:
        raise ValueError(text) from error
    if not isinstance(raw, list) or len(raw) > MAX_GROUPS:
        raise ValueError(text)
    for each in raw:
        texts = isinstance(each, list) and all(isinstance(part, str) and len(part) <= LONGEST for part in each)
        if not texts or not 1 <= len(each) <= MAX_IN_GROUP:
            raise ValueError(text)
    return tuple((name, tuple(ids)) for name, *ids in raw)


@dataclass(frozen=True)
class Choices(PageChoices):
    """The target of the graph and how it is pruned and drawn.

    `graph_units` is "neurons" or a dictionary's name; where it is empty, the first transcoders that fit, or neurons.
    The target's logit is taken less the distractor's or less the mean of all. With `graph_folded` heads are part of the
    edges. `graph_most` nodes are followed; those are kept that have the share `graph_nodes` of the influence, with the
    edges that have the share `graph_edges` of what passes. `graph_node` is the id of the chosen one.

    In the mode "circuit" it is the model's own edges, against prompt B, A's own means or zeros: the `circuit_most`
    with the largest scores of those that have at least `circuit_least` of the largest.
    """

    forgets: ClassVar = dict.fromkeys(("prompt", "model"), ("graph_node", "graph_groups"))

    graph_mode: Mode = "graph"
    graph_units: str = ""
    graph_against: Less = "distractor"
    graph_folded: bool = False
    graph_most: Annotated[int, count(*NODE_LIMITS)] = 300
    graph_nodes: Annotated[float, number(*SHARES)] = 0.6
    graph_edges: Annotated[float, number(*SHARES)] = 0.98
    graph_node: str = ""
    circuit_method: Method = "eap_ig_inputs"
    circuit_against: Against = "b"
    circuit_most: Annotated[int, count(*EDGE_LIMITS)] = 100
    circuit_least: Annotated[float, number(*LEAST)] = 0.01
    circuit_steps: Annotated[int, count(*STEPS)] = 10
    graph_groups: Annotated[Groups, Codec(_groups_text, _groups, long=True)] = ()
