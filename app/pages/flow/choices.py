"""What can be chosen on the page *Information flow* alone."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headlight.app.selection.choices import PageChoices
from headlight.app.selection.codecs import indices, number

THRESHOLDS = 0.005, 0.5  # the least and the most


@dataclass(frozen=True)
class Choices(PageChoices):
    """How much of its node an edge has at least, to be drawn, and what is chosen in the graph.

    That is a node (depth, place), an edge (its target's depth and place, its source's place), or nothing.
    """

    forgets: ClassVar = {"prompt": ("flow_chosen",)}

    flow_threshold: Annotated[float, number(*THRESHOLDS)] = 0.04
    flow_chosen: Annotated[tuple[int, ...], indices(lambda n: n in (0, 2, 3))] = ()
