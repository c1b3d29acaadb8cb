"""State of the page *Graph*: each run's graph, its kept part, and the chosen node."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from headlight.app.pages.graph.choices import Choices
from headlight.app.parts import needs as parts_needs
from headlight.app.parts.labels import isolated
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.runs import dictionaries
from headlight.app.selection.chosen import Selection
from headlight.model.graph.building import Aim, graph_of, no_graph
from headlight.model.graph.checking import Check, check_graph, top_nodes
from headlight.model.graph.graph import Graph, Node
from headlight.model.graph.influence import Pruned, Scores, graph_scores, prune
from headlight.model.graph.tables import GraphSettings
from headlight.model.graph.writing import Group, node_id
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.runs.edits.interventions import no_neurons
from headlight.model.runs.run import Run

NEURONS = "neurons"


@dataclass(frozen=True, eq=False)
class GraphView:
    """A graph, its kept part, the explained share, and the choice in it."""

    graph: Graph
    pruned: Pruned
    scores: Scores
    n_layers: int
    node: str
    places: Sequence[int]
    names: tuple[str, ...] = ()

    @cached_property
    def ids(self) -> list[str]:
        """The nodes' ids, as the address and the tables have them: by `places`, those of the graph's tokens."""
        return [node_id(node, self.n_layers) for node in self.graph.nodes_on(self.places)]

    @cached_property
    def chosen(self) -> int:
        """The place of the chosen node, or else of the target."""
        return self.ids.index(self.node) if self.node in self.ids else self.graph.logit

    @cached_property
    def kept(self) -> list[int]:
        """The places of the nodes that are kept, and of the chosen one, most influential first."""
        order = self.pruned.influence.argsort(descending=True).tolist()
        return [place for place in order if self.pruned.nodes[place] or place == self.chosen]

    def called(self, place: int) -> str:
        """A node with its token and that one's place: L1H2 at 5 ␣dog."""
        node = self.graph.nodes[place]
        name = self.names[place] if self.names and self.names[place] else self.name(node)
        token = isolated(self.graph.tokens[node.position], node.position)
        return f"{name} at {self.places[node.position]} {token}"

    def name(self, node: Node) -> str:
        """Name of a node without its position."""
        return self.graph.target_name if node.kind == "logit" else node.name


@dataclass(frozen=True, eq=False)
class RunGraphView(GraphView):
    """The graph of a run."""

    side: str = "A"
    run: Run | None = None
    opened: Dictionaries | None = None

    @cached_property
    def nodes_checked(self) -> tuple[int, ...]:
        """The nodes that are ablated."""
        return top_nodes(self.graph, self.pruned)

    @property
    def check(self) -> Check:
        """Effect of ablating them."""
        assert self.run is not None  # of a file there is no check
        return check_graph(self.run, self.graph, self.nodes_checked, self.opened)

    def groups(self, chosen: Selection) -> tuple[Group, ...]:
        """The groups that were made by hand, of the nodes that are there."""
        places = {name: place for place, name in enumerate(self.ids)}
        return tuple(
            Group(name, tuple(places[each] for each in ids if each in places))
            for name, ids in chosen.choices_of(Choices).graph_groups
        )


def needs(comparison: Comparison) -> str:
    """Requirements: logits, streams of heads' and MLPs' writes, and MLPs that can be split into units."""
    if obstacle := parts_needs.logits(comparison):
        return obstacle
    for run in comparison.runs:
        if reason := no_graph(run):
            return reason
        if run.cfg.has_one_output:
            return f"{run.source.name} has a single output, of which there is no graph. Its parts are on Why."
        reason = no_neurons(run.cfg)
        if reason and not run.cfg.attn_only and not units_offered(run):
            return f"{reason} So there is no graph of them. Open another model."
        if run.cfg.clip_qkv is not None:
            return "This model clips its values, so that no path through heads is linear. Use Patching instead."
    return ""


def units_offered(run: Run) -> list[str]:
    """The names of the dictionaries that stand for every MLP of a run's model."""
    return [name for name in dictionaries.offered() if dictionaries.stand_for_mlps(name, run.model)]


def units_of(comparison: Comparison, chosen: Selection) -> str:
    """Units of the MLPs: the chosen ones, or the first transcoders of A's model, or neurons."""
    if named := chosen.choices_of(Choices).graph_units:
        return named
    of_model = f"{comparison.a.source.name}/"
    fitting = set[str].intersection(*(set(units_offered(run)) for run in comparison.runs))
    return next(
        (name for name in units_offered(comparison.a) if name.startswith(of_model) and name in fitting), NEURONS
    )


def opened_of(comparison: Comparison, chosen: Selection) -> Dictionaries | None:
    """The transcoders that are chosen; None for neurons.

    Raises:
        HeadlightError: they are not offered here, or do not fit a model.
    """
    units = units_of(comparison, chosen)
    if units == NEURONS:
        return None
    return dictionaries.fitting_all(units, comparison.runs)


def aim_of(comparison: Comparison, chosen: Selection, position: int) -> Aim:
    """Target of the explanation, at a run's own position."""
    pair = pair_of(comparison, chosen)
    return Aim(pair.target, None if chosen.choices_of(Choices).graph_against == "mean" else pair.distractor, position)


def settings_of(chosen: Selection) -> GraphSettings:
    """Settings of the graph."""
    own = chosen.choices_of(Choices)
    return GraphSettings(own.graph_folded, own.graph_most, own.graph_nodes, own.graph_edges)


def sides_of(comparison: Comparison, chosen: Selection) -> dict[str, RunGraphView]:
    """The graph of each run that has the place.

    Raises:
        HeadlightError: a run has no such graph; it says why.
    """
    opened, settings, views = opened_of(comparison, chosen), settings_of(chosen), {}
    for side, run in comparison.sides.items():
        position = comparison.positions(run)[place_of(comparison, chosen)]
        if position is not None:
            graph = graph_of(run, aim_of(comparison, chosen, position), opened, settings.most, settings.folded)
            key = "graph pruned", graph.target, graph.dictionary, settings
            pruned, scores = run.keep(key, partial(_read, graph, settings))
            node = chosen.choices_of(Choices).graph_node
            places = comparison.places(run)
            views[side] = RunGraphView(graph, pruned, scores, run.cfg.n_layers, node, places, (), side, run, opened)
    return views


def _read(graph: Graph, settings: GraphSettings) -> tuple[Pruned, Scores]:
    return prune(graph, settings.nodes, settings.edges), graph_scores(graph)
