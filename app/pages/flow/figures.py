"""The flow in numbers: nodes, edges, heads and tokens of one run's graph, and of the change from A to B."""

from headlight.app.parts import tables
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.flow.change import EdgePair, FlowChange
from headlight.model.flow.information_flow import Edge, Flow, Place, state_names
from headlight.model.flow.run_flow import readout_of, readouts_of
from headlight.model.flow.shares import ROUNDING, Kind
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.runs.linear import has_attention_biases
from headlight.model.runs.run import Run

KINDS: dict[Kind, str] = {"residual": "residual stream", "attention": "attention", "mlp": "MLP"}
MAX_NAMED = 3  # heads in a line's tooltip


def layer_of(run: Run, place: Place) -> int:
    """The layer that writes to a state above the embedding."""
    return (place.depth - 1) // run.cfg.states


def spelled(flow: Flow) -> str:
    """Describe the size of the graph, and the share of the start that it explains."""
    biases, edits = (
        sum(node.flow * share for node, share in zip(flow.nodes, shares, strict=True))
        for shares in ([node.bias for node in flow.nodes], [node.rest for node in flow.nodes])
    )
    left_out = max(0.0, 1 - flow.traced - biases - edits)
    beside = [f"{name} {share:.1%}" for name, share in (("biases", biases), ("edits", edits)) if share]
    return (
        f"{len(flow.nodes)} nodes and {len(flow.edges)} edges with a share of at least {flow.threshold:g}. "
        f"These edges trace {flow.traced:.1%} of the final state back to embeddings; "
        f"{', '.join([*beside, f'edges below the threshold {left_out:.1%}'])}."
    )


def spelled_change(change: FlowChange) -> str:
    """Describe how many edges have changed, and the total."""
    among = f"of {len(change.edges)} edges that are that large in A or in B, into nodes that both have"
    if change.changed:
        return f"{len(change.changed)} changed by at least {change.threshold:g}, {among}."
    largest = max((abs(edge.change) for edge in change.edges), default=0.0)
    most = f"the largest change is {largest:.2g}" if largest > ROUNDING else "what flows is the same in both"
    return f"None changed by {change.threshold:g} or more, {among}: {most}."


def carriers(run: Run, edge: Edge) -> str:
    """The heads that carry most of a line, in words."""
    layer = layer_of(run, edge.target)
    heads = [f"{head_name((layer, head))} {share:.3f}" for head, share in edge.heads[:MAX_NAMED] if share > 0]
    return ", ".join(heads) + (", …" if len(edge.heads) > MAX_NAMED else "")


def changers(run: Run, edge: EdgePair) -> str:
    """The heads that change most of a line, in words."""
    layer = layer_of(run, edge.target)
    heads = [f"{head_name((layer, head))} {b - a:+.3f}".replace("-", "−") for head, a, b in edge.heads[:MAX_NAMED]]
    return ", ".join(heads) + (", …" if len(edge.heads) > MAX_NAMED else "")


def tokens_of(run: Run, place: Place) -> tables.Columns:
    """A node's likeliest tokens, and how their ranks have changed against the state below."""
    readout = readout_of(run, place)
    tokens = readout.tokens.values.tolist()
    columns: tables.Columns = {
        "Token": run.outputs.labels(tokens),
        "Probability": readout.probabilities.values.numpy(),
        "Rank": list(range(1, len(tokens) + 1)),
    }
    if readout.ranks_below is not None:
        below = readout.ranks_below.values.tolist()
        columns[f"Rank in {state_names(run.cfg)[place.depth - 1]}"] = below
        columns["Risen by"] = [before - rank for rank, before in enumerate(below, 1)]
    return columns


def tokens_of_both(comparison: Comparison, place: Place) -> tables.Columns:
    """The tokens that are likeliest at a node in A or in B, and how they change."""
    readouts = readouts_of(comparison, place)
    a, b = readouts.probabilities_a.values.numpy(), readouts.probabilities_b.values.numpy()
    ranks_a, ranks_b = readouts.ranks_a.values.tolist(), readouts.ranks_b.values.tolist()
    return {
        "Token": comparison.a.outputs.labels(readouts.tokens.values.tolist()),
        "A": a,
        "B": b,
        DIFFERENCE: b - a,
        "Rank in A": ranks_a,
        "Rank in B": ranks_b,
        "Risen by": [before - after for before, after in zip(ranks_a, ranks_b, strict=True)],
    }


def heads_of(run: Run, edge: Edge) -> tables.Columns:
    """The heads of an edge, ranked."""
    layer = layer_of(run, edge.target)
    return {
        "Head": [head_name((layer, head)) for head, _ in edge.heads],
        "Share of the node": [share for _, share in edge.heads],
        "Share of the line": [share / edge.share for _, share in edge.heads],
    }


def heads_of_both(run: Run, edge: EdgePair) -> tables.Columns:
    """The heads of an edge by their shares of the node, those that change most first."""
    layer = layer_of(run, edge.target)
    return {
        "Head": [head_name((layer, head)) for head, _, _ in edge.heads],
        "A": [a for _, a, _ in edge.heads],
        "B": [b for _, _, b in edge.heads],
        DIFFERENCE: [b - a for _, a, b in edge.heads],
    }


def edges_of(comparison: Comparison, run: Run, flow: Flow) -> tables.Columns:
    """One row an edge, from the start down."""
    names = state_names(run.cfg)
    return {
        "Into": [names[edge.target.depth] for edge in flow.edges],
        "at": [comparison.token_at(run, edge.target.position) for edge in flow.edges],
        "by": [KINDS[edge.kind] for edge in flow.edges],
        "from": [comparison.token_at(run, edge.source.position) for edge in flow.edges],
        "Share": [edge.share for edge in flow.edges],
        "Heads": [carriers(run, edge) if edge.heads else "" for edge in flow.edges],
    }


def nodes_of(comparison: Comparison, run: Run, flow: Flow) -> tables.Columns:
    """One row a node, from the start down."""
    names = state_names(run.cfg)
    return {
        "State": [names[node.place.depth] for node in flow.nodes],
        "at": [comparison.token_at(run, node.place.position) for node in flow.nodes],
        "Of the start": [node.flow for node in flow.nodes],
        **({"From the bias": [node.bias for node in flow.nodes]} if has_attention_biases(run.model) else {}),
        "From edits": [node.rest for node in flow.nodes],
    }


def changed_edges_of(comparison: Comparison, change: FlowChange) -> tables.Columns:
    """One row an edge that has changed, the most changed first."""
    names, edges = state_names(comparison.a.cfg), sorted(change.changed, key=lambda edge: -abs(edge.change))
    return {
        "Into": [names[edge.target.depth] for edge in edges],
        "at": [_at(comparison.labels, edge.target) for edge in edges],
        "by": [KINDS[edge.kind] for edge in edges],
        "from": [_at(comparison.labels, edge.source) for edge in edges],
        "A": [edge.a for edge in edges],
        "B": [edge.b for edge in edges],
        DIFFERENCE: [edge.change for edge in edges],
        "Heads": [changers(comparison.a, edge) if edge.heads else "" for edge in edges],
    }


def changed_nodes_of(comparison: Comparison, change: FlowChange) -> tables.Columns:
    """One row a node, from the start down: how much of each start passes through it."""
    names = state_names(comparison.a.cfg)
    return {
        "State": [names[pair.place.depth] for pair in change.nodes],
        "at": [_at(comparison.labels, pair.place) for pair in change.nodes],
        "A": [pair.a.flow if pair.a else None for pair in change.nodes],
        "B": [pair.b.flow if pair.b else None for pair in change.nodes],
        DIFFERENCE: [pair.change for pair in change.nodes],
    }


def _at(labels: tuple[str, ...], place: Place) -> str:
    return f"{place.position} {labels[place.position]}"
