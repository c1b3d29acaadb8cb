"""The flow's graphs as components: of one run, and of the change from A to B."""

from headlight.app.components import FlowGraph, GraphEdge, GraphNode
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.pages.flow import figures as numbers
from headlight.app.parts import labels
from headlight.app.parts.sides import DIFFERENCE
from headlight.model.attribution.parts import logits_at
from headlight.model.flow.change import EdgePair, FlowChange, NodePair
from headlight.model.flow.information_flow import Edge, Flow, state_names
from headlight.model.flow.shares import ROUNDING
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run


def of_run(comparison: Comparison, side: str, flow: Flow) -> FlowGraph:
    """A run's graph."""
    run = comparison.sides[side]
    return FlowGraph(
        [GraphNode(*node.place, node.flow, node.bias, node.rest) for node in flow.nodes],
        [GraphEdge(*_ends(edge), edge.kind, edge.share, numbers.carriers(run, edge)) for edge in flow.edges],
        labels=run.labels,
        states=state_names(run.cfg),
        threshold=flow.threshold,
        places=comparison.places(run),
        title=side if comparison.b is not None else "",
        bar=side != "B",
        prediction=_prediction(run, flow.start.position),
    )


def _prediction(run: Run, position: int) -> str:
    """What the model takes to come next, and its probability, where it says that."""
    if run.cfg.output != "tokens" or run.cfg.is_masked:
        return ""
    logits = logits_at(run, position)
    token = int(logits.argmax())
    return f"next: {run.outputs.labels([token])[0]} {labels.percent(float(logits.softmax(-1)[token]))}"


def _ends(edge: Edge | EdgePair) -> tuple[int, int, int]:
    return edge.target.depth, edge.source.position, edge.target.position


def of_change(comparison: Comparison, change: FlowChange) -> FlowGraph:
    """Graph of the changes from A to B, over the places that they have in common."""
    return FlowGraph(
        [
            GraphNode(
                *pair.place,
                visible_change(pair),
                sides=(pair.a.flow if pair.a else None, pair.b.flow if pair.b else None),
            )
            for pair in change.nodes
        ],
        [
            GraphEdge(*_ends(edge), edge.kind, edge.change, numbers.changers(comparison.a, edge), (edge.a, edge.b))
            for edge in change.changed
        ],
        labels=comparison.labels,
        states=states_of(comparison, change),
        threshold=change.threshold,
        limit=limit_of(change),
        presence=comparison.presence,
        title=DIFFERENCE,
    )


def states_of(comparison: Comparison, change: FlowChange) -> tuple[str, ...]:
    """The names of the states that both runs have."""
    return state_names(comparison.a.cfg)[: change.start.depth + 1]


def limit_of(change: FlowChange) -> float:
    """Limit of the scale of changes, the same in both directions."""
    sizes = [abs(visible_change(pair)) for pair in change.nodes] + [abs(edge.change) for edge in change.changed]
    return max(LEAST_EFFECT, *sizes)


def visible_change(pair: NodePair) -> float:
    """A node's change; none where it is no more than rounding, which would else get a colour."""
    return pair.change if abs(pair.change) > ROUNDING else 0.0
