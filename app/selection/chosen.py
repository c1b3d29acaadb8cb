"""All that the user has chosen, as one frozen value."""

from dataclasses import dataclass, replace
from typing import Literal

from model.edits import Edit

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
BWrites = Literal["same", "own"]
Measure = Literal["top", "target", "rank", "entropy", "kl"]
MOST_NEW = 64  # tokens that are written at once
MOST_TEMPERATURE = 2.0
LEAST_TOP_P = 0.01
FLOW_THRESHOLDS = 0.005, 0.5  # the least and the most
FINDER_COUNTS = 2, 100  # random repeats: an interval needs two
FINDER_HALVES = 4, 500  # tokens that come twice in one of them
Statistic = Literal[
    "induction", "previous_token", "current_token", "duplicate_token", "first_token", "entropy", "mean_distance"
]
FinderScore = Literal[
    "induction",
    "previous_token",
    "duplicate_token",
    "first_token",
    "current_token",
    "local_window",
    "punctuation",
    "copying",
    "effect",
]
FinderData = Literal["repeats", "prompts"]
PatchMap = Literal["z", "resid_pre", "attn_out", "mlp_out", "z_by_position", "path_q", "path_k", "path_v"]
PatchInto = Literal["A", "B"]
CircuitKind = Literal["qk", "ov"]


@dataclass(frozen=True)
class Selection:
    """What the user has chosen; None where the page is to choose.

    There is a run B where `prompt_b` is not None; `model_b` is A's where it is empty. Without it B is run A with those
    `edits`, if any, whose places are not in `edits_off`. `heads` are (layer, head).
    Tokens are places on the axis that A and B have in common, which without B is A's: `queries` and `keys` are pinned
    on the attention page, `layer` (0 is the embedding) and `position` are the cell looked at on the others. `pair` is
    the two heads held against each other, `top` how many heads the sorted grid shows. `component`
    is the index of q and k that is followed inside one head, `convention` whether tokens are rows or columns there.
    `target` is the text of the token that the lens follows; its logit less that of `distractor` is what is explained.
    `mean_over` are the prompts over whose positions a head's mean is taken that stands in for it; without them it is
    over the prompt's own. `statistic` and `statistic_head` are what is listed for each of many prompts. `table` asks
    for numbers in place of pictures, `numbers` for those under them.

    An encoder-decoder reads `source` and, if there is one, `source_b` beside it, in `translator_b` where that is not
    empty; what each writes is given in `translation` and `translation_b`, or found by `beams`, of which `branch` and
    `branch_b` are looked at. `pair_align` lays their tokens side by side.

    `n_new` tokens are written behind each prompt: first the ids in `written`, then what is drawn with `temperature` (0
    is greedy), `top_k`, `top_p` and `seed`; with `stop` no further than the end of the text. `step` is the one looked
    at, from 0. B writes the `same` tokens as A, or its `own`.

    The finder of heads lists the first `finder_top` by `finder_score`, on the list of prompts or (`finder_data`) on
    `finder_count` random repeats of `finder_half` tokens drawn from `finder_seed`; `every_head` has all of them ablated
    and not only those that have a label.

    `patch_map` is what is patched into run `patch_into`: `patch_layer` is the one whose heads are shown by position,
    `patch_head` the receiver of paths, which with `patch_mlps` go through MLPs too. `patch_estimate` asks for
    attribution patching beside it.

    The graph of what flows into `position` has the edges that are at least `flow_threshold` of their node. In it
    `flow_chosen` is a node (depth, place) or an edge (its target's depth and place, its source's place), or nothing.

    `circuit` is the one of a head that is read from its weights, `circuit_token` the text of the token looked up in it.
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
    distractor: str = ""
    mean_over: tuple[str, ...] = ()
    statistic: Statistic = "induction"
    statistic_head: Head | None = None
    table: bool = False
    numbers: bool = False
    translator: str = ""
    source: str | None = None
    translation: str | None = None
    beams: int = 4
    branch: int | None = None
    translator_b: str = ""
    source_b: str | None = None
    translation_b: str | None = None
    branch_b: int | None = None
    pair_align: Align = "tokens"
    attends: Attends = "cross"
    rows: Rows = "written"
    pair_heads: tuple[Head, ...] | None = None
    pair_queries: tuple[int, ...] = ()
    pair_keys: tuple[int, ...] = ()
    n_new: int = 20
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0
    stop: bool = True
    written: tuple[int, ...] = ()
    step: int = 0
    b_writes: BWrites = "same"
    finder_score: FinderScore = "induction"
    finder_data: FinderData = "repeats"
    finder_seed: int = 0
    finder_count: int = 10
    finder_half: int = 25
    finder_top: int | None = None
    every_head: bool = False
    circuit: CircuitKind = "qk"
    circuit_token: str = ""
    patch_map: PatchMap = "z"
    patch_into: PatchInto = "A"
    patch_layer: int | None = None
    patch_head: Head | None = None
    patch_mlps: bool = False
    patch_estimate: bool = False
    edits: tuple[Edit, ...] = ()
    edits_off: tuple[int, ...] = ()
    flow_threshold: float = 0.04
    flow_chosen: tuple[int, ...] = ()

    @property
    def edits_on(self) -> tuple[Edit, ...]:
        """The edits that make B of A: none where there is a prompt B, which then is B."""
        if self.prompt_b is not None:
            return ()
        return tuple(edit for place, edit in enumerate(self.edits) if place not in self.edits_off)

    @property
    def compares(self) -> bool:
        """Whether there is a B, another prompt or A with edits."""
        return self.prompt_b is not None or bool(self.edits_on)


def within(selection: Selection, n_layers: int, n_heads: int, n_places: int, deepest: int | None = None) -> Selection:
    """The selection without the heads, layers, places and B that what is shown does not have.

    Heads have to be in both runs; of two models the one with more layers is `deepest`, and any of its layers will do.
    """

    def index(value: int | None, size: int) -> int | None:
        return value if value is not None and value < size else None

    def existing(heads: tuple[Head, ...]) -> tuple[Head, ...]:
        return tuple((layer, head) for layer, head in heads if layer < n_layers and head < n_heads)

    heads = selection.heads and existing(selection.heads)
    listed, receiver = selection.statistic_head, selection.patch_head
    return replace(
        selection,
        model_b="" if selection.prompt_b is None else selection.model_b,
        heads=None if selection.heads and not heads else heads,
        queries=tuple(place for place in selection.queries if place < n_places),
        keys=tuple(place for place in selection.keys if place < n_places),
        side=selection.side if selection.compares or selection.source_b is not None else None,
        pair=selection.pair if existing(selection.pair) == selection.pair else (),
        layer=index(selection.layer, (deepest or n_layers) + 1),
        position=index(selection.position, n_places),
        statistic_head=listed if listed and existing((listed,)) else None,
        patch_layer=index(selection.patch_layer, n_layers),
        patch_head=receiver if receiver and existing((receiver,)) else None,
    )
