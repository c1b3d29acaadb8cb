"""All that the user has chosen, as one frozen value."""

from dataclasses import dataclass, replace
from typing import Literal

Head = tuple[int, int]
Align = Literal["tokens", "position"]
Show = Literal["weight", "score", "write", "disagreement"]
Sink = Literal["keep", "hide", "renormalise"]
Scale = Literal["sqrt", "linear"]
Unit = Literal["token", "word", "sentence"]
Side = Literal["a", "b", "difference"]
Sort = Literal[
    "place",
    "entropy",
    "mean_distance",
    "first_token",
    "previous_token",
    "current_token",
    "duplicate_token",
    "induction",
    "largest_write",
    "divergence",
]
Convention = Literal["row", "column"]
Attends = Literal["cross", "decoder", "encoder"]
Rows = Literal["written", "read"]
Measure = Literal["top", "target", "rank", "entropy", "kl"]
Statistic = Literal[
    "induction", "previous_token", "current_token", "duplicate_token", "first_token", "entropy", "mean_distance"
]


@dataclass(frozen=True)
class Selection:
    """What the user has chosen; None where the page is to choose.

    There is a run B where `prompt_b` is not None; `model_b` is A's where it is empty. `heads` are (layer, head).
    Tokens are places on the axis that A and B have in common, which without B is A's: `queries` and `keys` are pinned
    on the attention page, `layer` (0 is the embedding) and `position` are the cell looked at on the others. `pair` is
    the two heads held against each other, `top` how many heads the sorted grid shows. `component`
    is the index of q and k that is followed inside one head, `convention` whether tokens are rows or columns there.
    `target` is the text of the token that the lens follows. `statistic` and `statistic_head` are what is listed for
    each of many prompts. `table` asks for numbers in place of pictures, `numbers` for those under them.
    """

    model: str = ""
    prompt: str = ""
    bos: bool = True
    model_b: str = ""
    prompt_b: str | None = None
    align: Align = "tokens"
    heads: tuple[Head, ...] | None = None
    queries: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    show: Show = "weight"
    sink: Sink = "keep"
    scale: Scale = "sqrt"
    own_scale: bool = False
    unit: Unit = "token"
    side: Side | None = None
    sort: Sort = "place"
    top: int | None = None
    pair: tuple[Head, ...] = ()
    layer: int | None = None
    position: int | None = None
    component: int | None = None
    convention: Convention = "row"
    measure: Measure = "top"
    target: str = ""
    statistic: Statistic = "induction"
    statistic_head: Head | None = None
    table: bool = False
    numbers: bool = False
    translator: str = ""
    source: str | None = None
    translation: str | None = None
    beams: int = 4
    branch: int | None = None
    attends: Attends = "cross"
    rows: Rows = "written"
    pair_heads: tuple[Head, ...] | None = None
    pair_queries: tuple[int, ...] = ()
    pair_keys: tuple[int, ...] = ()


def within(selection: Selection, n_layers: int, n_heads: int, n_places: int, deepest: int | None = None) -> Selection:
    """The selection without the heads, layers and places that what is shown does not have.

    Heads have to be in both runs; of two models the one with more layers is `deepest`, and any of its layers will do.
    """

    def index(value: int | None, size: int) -> int | None:
        return value if value is not None and value < size else None

    def existing(heads: tuple[Head, ...]) -> tuple[Head, ...]:
        return tuple((layer, head) for layer, head in heads if layer < n_layers and head < n_heads)

    heads = selection.heads and existing(selection.heads)
    listed = selection.statistic_head
    return replace(
        selection,
        heads=None if selection.heads and not heads else heads,
        queries=tuple(place for place in selection.queries if place < n_places),
        keys=tuple(place for place in selection.keys if place < n_places),
        pair=selection.pair if existing(selection.pair) == selection.pair else (),
        layer=index(selection.layer, (deepest or n_layers) + 1),
        position=index(selection.position, n_places),
        statistic_head=listed if listed and existing((listed,)) else None,
    )
