"""What the flow page shows: the start, each run's graph, the change between them, and the node or edge chosen."""

from collections.abc import Sequence

from app.flow import change_of, flow_of
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.sides import positions_at
from model.analysis.flow import Edge, Flow, Place
from model.analysis.flow_change import EdgePair, FlowChange


def start_of(shown: Shown, chosen: Selection) -> int:
    """The place that is started from: the one chosen, or the last that all runs have."""
    return shown.default_place if chosen.position is None else chosen.position


def found_in(shown: Shown, side: str, chosen: Selection) -> Flow:
    """A run's graph from the start, which it has to have."""
    start = positions_at(shown, start_of(shown, chosen))[side]
    return flow_of(shown.sides[side], start, chosen.flow_threshold)


def change_in(shown: Shown, chosen: Selection) -> FlowChange | None:
    """How the flow differs between A and B; nothing where there is no B, or B lacks A's states."""
    start = start_of(shown, chosen)
    if shown.b is None or len(positions_at(shown, start)) < 2 or lacks_change(shown):
        return None
    return change_of(shown, start, chosen.flow_threshold)


def lacks_change(shown: Shown) -> str:
    """Why the states of A are not those of B, where they are not."""
    without = [side for side, run in shown.sides.items() if run.cfg.attn_only]
    if len(without) in (0, len(shown.runs)):
        return ""
    return f"{without[0]} has no MLPs and the other has, so their states are not the same ones: there is no B − A."


def chosen_in(shown: Shown, side: str, chosen: Selection) -> tuple[int, ...]:
    """The chosen node or edge, its places as positions of a run; nothing where the run lacks one of them."""
    depth, *places = chosen.flow_chosen or (0,)
    known = shown.positions(shown.sides[side])
    positions = [known[place] if place < len(known) else None for place in places]
    return () if not places or None in positions else (depth, *(each for each in positions if each is not None))


def edge_of(found: Flow, chosen: Sequence[int]) -> Edge | None:
    """The chosen attention edge, where it is in the graph."""
    if len(chosen) != 3:
        return None
    depth, target, source = chosen
    ends = (Place(depth - 1, source), Place(depth, target))
    return next((each for each in found.edges if each.kind == "attention" and (each.source, each.target) == ends), None)


def edge_pair_of(change: FlowChange, chosen: Sequence[int]) -> EdgePair | None:
    """The chosen attention edge, where both runs have its target."""
    if len(chosen) != 3:
        return None
    depth, target, source = chosen
    ends = (Place(depth - 1, source), Place(depth, target))
    return next(
        (each for each in change.edges if each.kind == "attention" and (each.source, each.target) == ends), None
    )
