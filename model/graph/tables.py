"""Attribution graph in tables: its target, nodes and edges, and measured effects of ablating its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.model.attribution.explanation import likeliest
from headlight.model.base.errors import InputError
from headlight.model.graph.building import MAX_NODES, Aim, graph_of
from headlight.model.graph.checking import CORRELATION, FACTOR, REST, Check, Way, check_graph, top_nodes
from headlight.model.graph.graph import Graph
from headlight.model.graph.influence import EDGES, NODES, Pruned, graph_scores, prune
from headlight.model.graph.writing import node_id
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Row, Rows, Table, Tables, columns, number, tokens_of

TARGET = (
    *("run", "target", "less", "value (logits)", "probability", "nodes", "kept", "share of influence kept"),
    *("share of edges' influence kept", "replacement score", "completeness score"),
)
NODE = ("run", "id", "node", "layer", "position", "token", "activation", "effect (logits)", "influence")
EDGE = ("run", "from", "to", "weight", "effect on the target (logits)")
CHANGES = ("node", "position", "token", "effect in A (logits)", "effect in B (logits)", "B − A (logits)")
CHECKED = ("run", "ablated", "predicted (logits)", "frozen (logits)", "measured (logits)")


@dataclass(frozen=True)
class GraphSettings:
    """Size and pruning of an attribution graph.

    Attributes:
        folded: make heads part of the edges rather than nodes.
        most: largest number of nodes before pruning.
        nodes: share of the nodes' influence to keep.
        edges: share of the edges' influence to keep.
    """

    folded: bool = False
    most: int = MAX_NODES
    nodes: float = NODES
    edges: float = EDGES


WHOLE = GraphSettings()


def graph_tables(
    comparison: Comparison,
    place: int | None = None,
    target: int | None = None,
    distractor: int | None = None,
    demeaned: bool = False,
    settings: GraphSettings = WHOLE,
    opened: Dictionaries | None = None,
) -> Tables:
    """Build the attribution graph of each run's prediction; tabulate target, nodes, edges and ablation check.

    Args:
        comparison: one run, or two to compare.
        place: where the prediction is read, by default the last place that all runs have.
        target: target token id, by default the likeliest.
        distractor: token id whose logit is subtracted, by default the likeliest other token.
        demeaned: subtract the mean logit in place of a distractor's.
        settings: size and pruning of the graph.
        opened: transcoders whose features are nodes; neurons are nodes without them.

    Source: Ameisen et al. 2025, "Circuit Tracing: Revealing Computational Graphs in Language Models".

    Raises:
        HeadlightError: the model has no such graph, or the dictionaries do not fit it.
    """
    if any(run.cfg.has_one_output for run in comparison.runs):
        raise InputError("A model with a single output has no graph. `why_tables` gives the parts of that output.")
    at = comparison.default_place if place is None else place
    first = likeliest(comparison, at)
    token = first[0] if target is None else target
    other = None if demeaned else distractor if distractor is not None else next(t for t in first if t != token)
    rows_of = {name: Rows() for name in ("target", "nodes", "edges", "check")}
    for side, (run, position) in comparison.sides_at(at).items():
        graph = graph_of(run, Aim(token, other, position), opened, settings.most, settings.folded)
        pruned, places = prune(graph, settings.nodes, settings.edges), comparison.places(run)
        rows_of["target"].append((side, *target_row(run, graph, pruned)))
        rows_of["nodes"] += [(side, *row) for row in node_rows(graph, pruned, run.cfg.n_layers, places)]
        rows_of["edges"] += [(side, *row) for row in edge_rows(graph, pruned, run.cfg.n_layers, places)]
        if chosen := top_nodes(graph, pruned):
            check = check_graph(run, graph, chosen, opened)
            rows_of["check"] += [(side, *row) for row in check_rows(graph, check, places)]
    headings = {"target": TARGET, "nodes": NODE, "edges": EDGE, "check": CHECKED}
    return {"tokens": tokens_of(comparison)} | {name: columns(headings[name], rows) for name, rows in rows_of.items()}


def target_row(run: Run, graph: Graph, pruned: Pruned) -> Row:
    """The row of the target, and how much of it the graph explains."""
    aim, scores = graph.target, graph_scores(graph)
    token, *less = run.outputs.labels([aim.token] if aim.distractor is None else [aim.token, aim.distractor])
    counts = len(graph.nodes), int(pruned.nodes.sum())
    shares = pruned.node_share, pruned.edge_share, scores.replacement, scores.completeness
    return token, less[0] if less else "mean of all", aim.value, aim.probability, *counts, *shares


def node_rows(graph: Graph, pruned: Pruned, n_layers: int, places: Sequence[int]) -> Rows:
    """The nodes that are kept, the most influential first; tokens are numbered by their `places`, in ids too."""
    nodes = graph.nodes_on(places)
    order = [slot for slot in pruned.influence.argsort(descending=True).tolist() if pruned.nodes[slot]]
    return [(node_id(nodes[slot], n_layers), *_node(graph, pruned, slot, nodes[slot].position)) for slot in order]


def _node(graph: Graph, pruned: Pruned, slot: int, place: int) -> Row:
    node = graph.nodes[slot]
    activation = float(graph.activations[slot]) if node.is_followed else None
    at = node.layer, place, graph.tokens[node.position]
    return node.name, *at, activation, number(float(graph.effects[slot])), float(pruned.influence[slot])


def edge_rows(graph: Graph, pruned: Pruned, n_layers: int, places: Sequence[int]) -> Rows:
    """The edges that are kept, those with the largest effect on the target first."""
    flows, names = graph.flows, [node_id(node, n_layers) for node in graph.nodes_on(places)]
    kept = pruned.edges.nonzero().tolist()
    kept.sort(key=lambda edge: -abs(float(flows[edge[0], edge[1]])))
    return [
        (names[source], names[row], float(graph.edges[row, source]), number(float(flows[row, source])))
        for row, source in kept
    ]


def node_changes(*sides: tuple[Graph, Pruned, Sequence[int]]) -> Table:
    """Nodes kept in A or in B, with their effects on the target in A, in B, and the difference.

    A node of A and one of B are the same if their tokens have the same of their `places` on the common axis.
    """
    nodes = [graph.nodes_on(places) for graph, _, places in sides]
    effects = [
        dict(zip(names, graph.effects.tolist(), strict=True)) for names, (graph, *_) in zip(nodes, sides, strict=True)
    ]
    kept = {
        node: graph.tokens[own.position]
        for names, (graph, pruned, _) in zip(nodes, sides, strict=True)
        for node, own, is_kept in zip(names, graph.nodes, pruned.nodes.tolist(), strict=True)
        if is_kept and node.kind != "logit"
    }
    rows = [
        (node.name, node.position, token, *values, values[1] - values[0])
        for node, token in kept.items()
        for values in [[each.get(node, 0.0) for each in effects]]
    ]
    rows.sort(key=lambda row: -abs(row[-1]))
    return columns(CHANGES, rows)


def check_rows(graph: Graph, check: Check, places: Sequence[int]) -> Rows:
    """Effect of each ablation, predicted, frozen and measured; of all together, and of all that was left out."""
    named = [f"{node.name} at {places[node.position]}" for node in map(graph.nodes.__getitem__, check.nodes)]
    outcomes = zip(
        (*named, "all of these", "all that was left out"), (*check.each, check.together, check.rest), strict=True
    )
    return [(name, each.predicted, each.frozen, each.measured) for name, each in outcomes]


def in_words(check: Check) -> str:
    """Whether the graph holds, in sentences with the thresholds, and whether it would if no head looked elsewhere."""
    free, frozen, whole = _describe(check, "measured"), _describe(check, "frozen"), _completeness(check)
    needs = f"it takes a correlation of at least {CORRELATION:g} and a joint effect within a factor of {FACTOR:g}"
    if check.holds():
        verdict = f"The graph holds: {free}; with {FROZEN}, {frozen}."
    elif check.holds("frozen"):
        verdict = (
            f"The graph holds only with {FROZEN}: {frozen}. Where these may change, it does not: {free} ({needs})."
        )
    else:
        verdict = f"The graph does not hold: {free} ({needs}). Nor does it with {FROZEN}: {frozen}."
    return f"{verdict} {whole}".strip().replace("-", "−")


FROZEN = "attention patterns and norm scales frozen"


def _describe(check: Check, way: Way) -> str:
    actual = getattr(check.together, way)
    together = f"ablated together {actual:+.3g} logits, predicted {check.together.predicted:+.3g}"
    several = f"correlation {check.correlation(way):.2f} over {len(check.each)} nodes, "
    return several + together if len(check.each) > 1 else together


def _completeness(check: Check) -> str:
    if check.is_complete:
        return ""
    off = check.rest.measured - check.rest.predicted
    return (
        f"It is not complete: without all that it leaves out the target changes by {check.rest.measured:+.3g}, "
        f"{abs(off):.3g} off the prediction, more than {REST:.0%} of its value."
    )
