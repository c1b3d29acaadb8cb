"""Choices of the page *Information flow*, and their graphs: of each run, their change, or one edge."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

from headlight.app.parts.pair import place_of
from headlight.app.parts.sides import positions_at
from headlight.app.selection.choices import PageChoices
from headlight.app.selection.chosen import Selection
from headlight.app.selection.codecs import indices, number
from headlight.model.flow import change
from headlight.model.flow.change import EdgePair, FlowChange
from headlight.model.flow.information_flow import Edge, Flow, Place
from headlight.model.flow.run_flow import flow_change_of, flow_of
from headlight.model.runs.comparison import Comparison

THRESHOLDS = 0.005, 0.5  # the least and the most

AnyEdge = TypeVar("AnyEdge", Edge, EdgePair)


@dataclass(frozen=True)
class Choices(PageChoices):
    """Minimum share of a drawn edge, and the node or edge chosen in the graph.

    That is a node (depth, place), an edge (its target's depth and place, its source's place), or nothing.
    """

    forgets: ClassVar = {"prompt": ("flow_chosen",)}

    flow_threshold: Annotated[float, number(*THRESHOLDS)] = 0.04
    flow_chosen: Annotated[tuple[int, ...], indices(lambda n: n in (0, 2, 3))] = ()


def flow_in(comparison: Comparison, side: str, chosen: Selection) -> Flow:
    """A run's graph from the start, which it has to have."""
    start = positions_at(comparison, place_of(comparison, chosen))[side]
    return flow_of(comparison.sides[side], start, chosen.choices_of(Choices).flow_threshold)


def change_in(comparison: Comparison, chosen: Selection) -> FlowChange | None:
    """Change of the flow between A and B; None without B, or where B lacks A's states."""
    return flow_change_of(comparison, place_of(comparison, chosen), chosen.choices_of(Choices).flow_threshold)


def lacks_change(comparison: Comparison) -> str:
    """Why the states of A are not those of B, where they are not."""
    return "" if comparison.b is None else change.lacks_change(comparison.a.cfg, comparison.b.cfg)


def chosen_in(comparison: Comparison, side: str, chosen: Selection) -> tuple[int, ...]:
    """The chosen node or edge, its places as positions of a run; nothing where the run lacks one of them."""
    depth, *places = chosen.choices_of(Choices).flow_chosen or (0,)
    known = comparison.positions(comparison.sides[side])
    positions = [known[place] if place < len(known) else None for place in places]
    return () if not places or None in positions else (depth, *(each for each in positions if each is not None))


def edge_of(edges: Iterable[AnyEdge], chosen: Sequence[int]) -> AnyEdge | None:
    """The chosen attention edge, where it is among these."""
    if len(chosen) != 3:
        return None
    depth, target, source = chosen
    ends = (Place(depth - 1, source), Place(depth, target))
    return next((each for each in edges if each.kind == "attention" and (each.source, each.target) == ends), None)
