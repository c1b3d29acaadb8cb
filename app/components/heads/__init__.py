"""The chosen heads' attention side by side, of one run or of two with their difference; a click pins a cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float32

from headlight.app.components.shared.coding import WEIGHT_ABSENT, Weights, encode_weights
from headlight.app.components.shared.fetchable import Content, Fetchable
from headlight.app.components.shared.mount import mount, register
from headlight.model.attention.axis import Places

Presence = Literal["both", "changed", "a", "b"]
Show = Literal["weight", "score", "write", "disagreement"]
Sink = Literal["keep", "hide", "renormalise"]
Scale = Literal["sqrt", "linear"]
Kind = Literal["measured", "differences"]

_render = register(__file__)


@dataclass(frozen=True)
class TokenAxis:
    """Tokens along a side of every pattern: the label of each, and which of the runs A and B have it.

    The first place has the token of number `first`, and each has `step` of them. `unit` is what stands at a place.
    """

    labels: Sequence[str]
    presence: Sequence[Presence]
    first: int = 0
    step: int = 1
    unit: Places = "token"


@dataclass(frozen=True)
class HeadPattern:
    """One head's attention in one run, from which the browser computes every measure.

    `weights` come from `encode_weights`, `logsumexp` is that of each query's scores , and `write_norms` are the
    L2 norms of what the head would write from each key (NaN where either is not known: its measure is left out).
    `sinks` are keys other than the first on which many heads rest, hidden with it. Where it `is_part` of a pattern its
    rows are too, so that cells have no rank, and its first key is no sink of itself.
    """

    layer: int
    head: int
    weights: Weights
    logsumexp: Float32[np.ndarray, "query"]
    write_norms: Float32[np.ndarray, "key"]
    sinks: tuple[int, ...] = ()
    is_part: bool = False

    def on_axis(self, positions: Sequence[int | None], columns: Sequence[int | None] | None = None) -> "HeadPattern":
        """This head on an axis of these positions of its run, absent where there is None.

        The keys stand at the same positions as the queries unless they have `columns` of their own.
        """
        columns = positions if columns is None else columns
        return replace(
            self,
            weights=encode_weights(
                _placed(_placed(self.weights.cells, positions, 0, WEIGHT_ABSENT), columns, 1, WEIGHT_ABSENT)
            ),
            logsumexp=_placed(self.logsumexp, positions, 0, np.nan),
            write_norms=_placed(self.write_norms, columns, 0, np.nan),
            sinks=tuple(place for place, position in enumerate(columns) if position in self.sinks),
        )


@dataclass(frozen=True)
class HeadPanel:
    """A head, and the one it is compared with: the same head in run B, or another; the title is its name if None."""

    a: HeadPattern
    b: HeadPattern | None = None
    title: str | None = None

    @property
    def sides(self) -> tuple[HeadPattern, ...]:
        """Its one head, or both."""
        return (self.a,) if self.b is None else (self.a, self.b)

    def rounded(self) -> "HeadPanel":
        """This panel with weights that take less room in a file; their first four digits stay."""
        sides = [replace(side, weights=side.weights.rounded()) for side in self.sides]
        return replace(self, a=sides[0], b=sides[1] if self.b else None)


class Pin(NamedTuple):
    """A pinned cell, one query and one key; or tokens of one side, whose attention is summed, and none of the other."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class HeadPanels:
    """Each head as a heatmap (row = query, column = key), with B as three: A, B and B - A.

    `axis` are the queries' tokens and the keys', unless these have `columns` of their own, as in cross-attention. A
    panel's index is its slot, the number and colour that `head_grid` frames it with.

    `show` is the softmax weight (probability), the score before it, the weight times the key's written norm (L2
    norm), or the weight less the key's share of all that the row writes. `sink` keeps the first token and the patterns'
    other sinks, hides their columns, or lets the other keys' weights sum to 1. Colours follow the value or its square
    root (scores always the value), on each head's own scale or on one for all, which goes as far as `others` on the
    page do.

    A `title`, with what explains it, stands before the legend; `quantity` says which weights they are, as of units of
    several tokens.
    """

    panels: Sequence[HeadPanel]
    axis: TokenAxis
    columns: TokenAxis | None = None
    show: Show = "weight"
    sink: Sink = "keep"
    scale: Scale = "sqrt"
    own_scale: bool = False
    others: Mapping[Kind, float] = field(default_factory=dict)
    title: tuple[str, str] | None = None
    quantity: str = ""


def heads(
    drawn: HeadPanels,
    *,
    pinned: Pin | None,
    epoch: int,
    key: str,
    group: str,
    fetchable: Fetchable | None = None,
) -> Pin | None:
    """Show the heads; returns the pin.

    `pinned` counts when `epoch` is new, afterwards the user's own pin does. A head that is chosen in a
    `head_grid` of the same group is shown before the script has run again, if it is `fetchable`, whose content has to
    be that of `panel_content`.
    """
    value = mount(
        _render,
        key=key,
        group=group,
        props={
            **axis_props(drawn.axis, drawn.columns),
            "panels": [panel_props(panel) for panel in drawn.panels],
            "show": drawn.show,
            "quantity": drawn.quantity,
            "sink": drawn.sink,
            "scale": drawn.scale,
            "ownScale": drawn.own_scale,
            "title": drawn.title,
            "others": drawn.others,
            "fetch": None if fetchable is None else fetchable.name,
        },
        arrays={
            f"{slot}.{name}": array
            for slot, panel in enumerate(drawn.panels)
            for name, array in panel_arrays(panel).items()
        },
        value=pinned,
        epoch=epoch,
        fetched=None if fetchable is None else fetchable.fetched,
    )
    return _pin_within(value, len(drawn.axis.labels), len((drawn.columns or drawn.axis).labels))


def axis_props(axis: TokenAxis, columns: TokenAxis | None) -> dict[str, Any]:
    """The axis, and that of the columns if it is another, as the scripts want them."""
    return {
        "labels": list(axis.labels),
        "presence": list(axis.presence),
        "first": axis.first,
        "step": axis.step,
        "unit": axis.unit,
        "columns": columns and axis_props(columns, None),
    }


def panel_props(panel: HeadPanel) -> dict[str, Any]:
    """Props of a panel for the scripts, besides its arrays."""
    return {
        "heads": [(side.layer, side.head) for side in panel.sides],
        "title": panel.title,
        "sinks": [list(side.sinks) for side in panel.sides],
        "isPart": panel.a.is_part,
    }


def panel_arrays(panel: HeadPanel) -> dict[str, np.ndarray]:
    """A panel's arrays by the names that the scripts give them."""
    arrays = {}
    for name, side in zip("ab", panel.sides, strict=False):
        arrays[f"{name}.weights"] = side.weights.visible
        arrays[f"{name}.masked"] = side.weights.masked
        arrays[f"{name}.logsumexp"] = side.logsumexp.astype(np.float32)
        arrays[f"{name}.norms"] = side.write_norms.astype(np.float32)
    return arrays


def panel_content(panel: HeadPanel) -> Content:
    """A panel as the browser fetches it."""
    return {"panel": panel_props(panel)}, panel_arrays(panel)


def _pin_within(value: Sequence[Sequence[int]] | None, n_queries: int, n_keys: int) -> Pin | None:
    """The pin, unless it belongs to a longer prompt than the current one."""
    if value is None:
        return None
    queries, keys = map(tuple, value)
    return Pin(queries, keys) if max(queries, default=0) < n_queries and max(keys, default=0) < n_keys else None


def _placed(array: np.ndarray, positions: Sequence[int | None], axis: int, missing: float) -> np.ndarray:
    """The array's entries at these positions along an axis, `missing` where there is None."""
    placed = array.take([position or 0 for position in positions], axis)
    np.moveaxis(placed, axis, 0)[[position is None for position in positions]] = missing
    return placed
