"""Groups of nodes that the user made, and their joint effect on the target."""

from headlight.app import selection
from headlight.app.components import Text
from headlight.app.pages.graph.choices import LONGEST, MAX_GROUPS, Choices, Groups
from headlight.app.pages.graph.graph_view import RunGraphView
from headlight.app.parts import options, tables
from headlight.app.parts.parts import heading


def draw(view: RunGraphView) -> None:
    """The groups with their influence and effects, and a field that adds the chosen node to one."""
    heading("Groups", "graph_groups", key="graph_groups")
    groups = view.groups(selection.current())
    own, chosen = selection.current().choices_of(Choices).graph_groups, view.ids[view.chosen]
    if groups:
        rows: tables.Columns = {
            "group": [group.name for group in groups],
            "nodes": [len(group.nodes) for group in groups],
            "influence": [float(view.pruned.influence[list(group.nodes)].sum()) for group in groups],
            "effects, summed": [float(view.graph.effects[list(group.nodes)].sum()) for group in groups],
        }
        tables.draw(rows, "Groups of nodes")

    def take_out() -> None:
        selection.choose(Choices, graph_groups=without(selection.current().choices_of(Choices).graph_groups, chosen))

    options.row(
        options.tie(
            Text,
            "graph_group",
            "Add this node to",
            "",
            lambda name: _put(name, chosen),
            placeholder="a group's name",
            width=180,
        ),
        options.button("graph_ungroup", "Remove it", take_out) if any(chosen in ids for _, ids in own) else None,
        name="graph_group",
        whole=True,
    )


def without(groups: Groups, node: str) -> Groups:
    """The groups without a node; one that is left empty goes."""
    left = ((name, tuple(each for each in ids if each != node)) for name, ids in groups)
    return tuple((name, ids) for name, ids in left if ids)


def put(groups: Groups, name: str, node: str) -> Groups:
    """The groups with a node in the one of this name, and in no other."""
    left = dict(without(groups, node))
    return tuple({**left, name: (*left.get(name, ()), node)}.items())[-MAX_GROUPS:]


def _put(name: str, node: str) -> None:
    if name := name.strip()[:LONGEST]:
        selection.choose(Choices, graph_groups=put(selection.current().choices_of(Choices).graph_groups, name, node))
