"""A graph as circuit-tracer writes one, which Neuronpedia opens: metadata, qParams, nodes and links in one json.

A graph of features with heads folded into its edges is one of circuit-tracer's own kind; what was left out of it, and
what edits add, are errors there, with numbers of their own. Heads' writes and neurons are nodes of types that
it does not have (`attention head`, `neuron`), which are drawn as features without a page.

Source: circuit-tracer's `frontend/graph_models.py` and `utils/create_graph_files.py`, and Neuronpedia's graph schema.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headlight.model.graph.graph import Graph, Kind, Node
from headlight.model.graph.influence import EDGES, NODES, Pruned, graph_scores

TYPES: dict[Kind, str] = {
    "token": "embedding",
    "logit": "logit",
    "feature": "cross layer transcoder",
    "neuron": "neuron",
    "head": "attention head",
    "error": "mlp reconstruction error",
    "features left out": "mlp reconstruction error",
    "neurons left out": "mlp reconstruction error",
    "heads left out": "lorsa error",
    "edits": "mlp reconstruction error",
}
# Index in ids of nodes that are no features; circuit-tracer's errors have -1.
REST: dict[Kind, int] = {
    "error": -1,
    "features left out": -2,
    "neurons left out": -3,
    "heads left out": -4,
    "edits": -5,
}
FIRST_HEAD = -10  # heads count down from here in ids, so that none has a feature's number
HEADS_FROM = 10**6  # and up from here where Neuronpedia looks nodes up, which takes no numbers below 0
GENERATOR = {"name": "Headlight", "version": "1"}


@dataclass(frozen=True)
class Group:
    """Nodes (their places) that were put together by hand, under a name."""

    name: str
    nodes: tuple[int, ...]


def graph_json(
    graph: Graph, pruned: Pruned, groups: Sequence[Group] = (), thresholds: tuple[float, float] = (NODES, EDGES)
) -> str:
    """The kept part of a graph as one json; the same graph gives the same text."""
    n_layers = 1 + max((node.layer for node in graph.nodes if node.layer is not None), default=0)
    kept = pruned.nodes.nonzero().flatten().tolist()
    names = {place: node_id(graph.nodes[place], n_layers) for place in kept}
    cumulative = _cumulative(pruned)
    nodes = [_node(graph, place, names[place], n_layers, cumulative[place]) for place in kept]
    links = [
        {"source": names[source], "target": names[row], "weight": float(graph.edges[row, source])}
        for row, source in pruned.edges.nonzero().tolist()
    ]
    supernodes = [[group.name, *(names[place] for place in group.nodes if place in names)] for group in groups]
    written = {
        "metadata": _metadata(graph, thresholds),
        "qParams": _chosen(supernodes),
        "nodes": nodes,
        "links": links,
    }
    return json.dumps(written, ensure_ascii=False, indent=1)


def _chosen(supernodes: list[list[str]]) -> dict[str, Any]:
    """Initially pinned nodes: Neuronpedia shows only the pinned nodes of groups."""
    pinned = list(dict.fromkeys(name for _, *members in supernodes for name in members))
    return {"pinnedIds": pinned, "supernodes": supernodes, "linkType": "both", "clickedId": "", "sg_pos": ""}


def node_id(node: Node, n_layers: int) -> str:
    """The id of a node: layer, number and position, as circuit-tracer has them."""
    match node.kind:
        case "token":
            return f"E_{node.index}_{node.position}"
        case "logit":
            return f"{n_layers + 1}_{node.index}_{node.position}"
    return f"{node.layer}_{_number(node)}_{node.position}"


def _number(node: Node) -> int:
    if node.kind in REST:
        return REST[node.kind]
    return FIRST_HEAD - (node.index or 0) if node.kind == "head" else (node.index or 0)


def _metadata(graph: Graph, thresholds: tuple[float, float]) -> dict[str, Any]:
    scores = graph_scores(graph)
    return {
        "slug": _slug(graph, thresholds),
        "scan": re.sub(r"[^a-z0-9_.-]+", "-", graph.model.rpartition("/")[2].lower()),  # as Neuronpedia names models
        "transcoder_list": [graph.dictionary] if graph.dictionary else [],
        "prompt_tokens": list(graph.texts),
        "prompt": graph.prompt,
        "node_threshold": thresholds[0],
        "schema_version": 1,
        "info": {"generator": GENERATOR},
        "generation_settings": {"max_feature_nodes": graph.n_followed - 1},
        "pruning_settings": {"node_threshold": thresholds[0], "edge_threshold": thresholds[1]},
        "replacement_score": scores.replacement,
        "completeness_score": scores.completeness,
        "headlight": {"model": graph.model, "target": asdict(graph.target), "folded": graph.folded},
    }


def _slug(graph: Graph, thresholds: tuple[float, float]) -> str:
    """A name for an address, of its own for each model, prompt, target, dictionary and pruning."""
    identity = graph.model, graph.prompt, graph.target, graph.dictionary, graph.folded, len(graph.nodes), thresholds
    words = re.sub(r"[^a-z0-9]+", "-", f"{graph.model} {graph.prompt}".lower()).strip("-")[:60] or "graph"
    return f"{words}-{hashlib.sha256(repr(identity).encode()).hexdigest()[:8]}"


def _cumulative(pruned: Pruned) -> list[float]:
    """Cumulative share of influence of the nodes with at least as much, as circuit-tracer's `influence`."""
    ordered, order = pruned.influence.sort(descending=True)
    cumulative = pruned.influence.clone()
    cumulative[order] = ordered.cumsum(0) / max(float(ordered.sum()), 1e-12)
    return cumulative.tolist()


def _node(graph: Graph, place: int, name: str, n_layers: int, cumulative: float) -> dict[str, Any]:
    node, target = graph.nodes[place], graph.target
    is_logit = node.kind == "logit"
    layer = "E" if node.kind == "token" else str(n_layers + 1 if is_logit else node.layer)
    first, _, last = name.rpartition("_")
    return {
        "node_id": name,
        "feature": _feature(node),
        "layer": layer,
        "ctx_idx": node.position,
        "feature_type": TYPES[node.kind],
        "token_prob": target.probability if is_logit else 0.0,
        "is_target_logit": is_logit,
        "run_idx": 0,
        "reverse_ctx_idx": 0,
        "jsNodeId": f"L_{node.index}-{last}" if is_logit else f"{first}-{last}",
        "clerp": f'Output "{graph.target_text}" (p={target.probability:.3f})' if is_logit else _clerp(node),
        "influence": None if is_logit else cumulative,
        "activation": float(graph.activations[place]) if node.is_followed else None,
    }


def _clerp(node: Node) -> str:
    return "" if node.kind in ("feature", "token", "error") else node.name


def _feature(node: Node) -> int:
    """The number under which a node is looked up: Cantor's of layer and number, so that no two layers share one."""
    if node.kind == "token":
        return node.position
    if node.kind in REST:
        return REST[node.kind]
    layer, number = node.layer or 0, (node.index or 0) + (HEADS_FROM if node.kind == "head" else 0)
    return (layer + number) * (layer + number + 1) // 2 + number
