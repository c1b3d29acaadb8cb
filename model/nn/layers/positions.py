"""Positions of a pass's queries and keys, and the keys that each query sees."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headlight.model.nn import attention_kernel
from headlight.model.nn.layers.rotary import Rotary, Waves

Made = TypeVar("Made")
Mask = Bool[Tensor, "#batch 1 query key"]  # true where the query sees the key
Rows = list[int] | slice | None  # some queries, or all


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions of a pass's queries and keys, each row counted from its first real token, and the mask.

    The queries are all positions, or the last ones where earlier keys are cached. Values that layers share are computed
    once: the mask, that of a window, and the rotary waves. A mask is built when it is first read: of 8,192 tokens it
    takes 67 MB, and where attention is `plainly_causal` a pass that looks at no pattern needs none.
    """

    build_mask: Callable[[], Mask]
    query: Int[Tensor, "#batch query"]
    key: Int[Tensor, "#batch key"]
    causal: bool = True
    plainly_causal: bool = False  # each query, of as many as keys, sees itself and all before it
    _made: dict[object, Any] = field(default_factory=dict)

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """Return a value that layers share, computed on first use."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    @property
    def mask(self) -> Mask:
        """True where a query sees a key, whatever the window."""
        return self.once("mask", self.build_mask)

    def to(self, device: torch.device | str) -> "Positions":
        """The same on another device, for models on several."""
        if torch.device(device) == self.key.device:
            return self
        return self.once(str(device), lambda: self._moved(device))

    def _moved(self, device: torch.device | str) -> "Positions":
        query, key = self.query.to(device), self.key.to(device)
        return Positions(lambda: self.mask.to(device), query, key, self.causal, self.plainly_causal)

    def mask_within(self, window: int | None) -> Mask:
        """Mask of a layer whose queries see this many tokens back, or half of them to either side."""
        if window is None or self._is_all_near(window):
            return self.mask
        return self.once(window, lambda: self.mask & self._near(window))

    def mask_of(self, window: int | None, rows: Rows = None) -> Mask:
        """Rows of the mask of a layer with this window; of plainly causal attention these alone are built."""
        if rows is None:
            return self.mask_within(window)
        if self.plainly_causal and self._is_all_near(window):
            order = torch.arange(self.key.shape[1], device=self.key.device)
            return (order <= order[rows][:, None])[None, None]
        return self.mask_within(window)[:, :, rows]

    def _is_all_near(self, window: int | None) -> bool:
        return window is None or int(self.key.max()) < (window if self.causal else window // 2)

    def is_causal(self, window: int | None) -> bool:
        """Whether each query of such a layer sees itself and all before it, padding included."""
        if self.plainly_causal and self._is_all_near(window):
            return True
        return self.once(("is causal", window), lambda: attention_kernel.is_causal(self.mask_within(window)))

    def _near(self, window: int) -> Mask:
        distance = self.distances()
        return distance < window if self.causal else distance.abs() <= window // 2

    def distances(self) -> Int[Tensor, "#batch 1 query key"]:
        """Number of positions from each key to its query; negative for later keys."""
        return (self.query[:, :, None] - self.key[:, None, :])[:, None]

    def waves(self, rotary: Rotary) -> Waves:
        """Cosines and sines of the rotary embedding at the queries' positions."""
        return self.once(rotary, lambda: rotary.waves(self.query, int(self.key.max()) + 1))


def place(
    attention_dir: str,
    attention_mask: Bool[Tensor, "batch key"] | None,
    n_key: int,
    device: torch.device,
    n_query: int | None = None,
) -> Positions:
    """Positions of a sequence's tokens, or of its last `n_query` where earlier keys are cached."""
    is_causal, n_query = attention_dir == "causal", n_key if n_query is None else n_query
    build = partial(build_mask, attention_dir, attention_mask, n_key, device, n_query)
    key = positions_of(attention_mask, n_key, device)
    is_plain = is_causal and attention_mask is None and n_query == n_key
    return Positions(build, key[:, n_key - n_query :], key, is_causal, is_plain)


def place_beside(
    attention_mask: Bool[Tensor, "batch key"] | None, n_query: int, n_key: int, device: torch.device
) -> Positions:
    """Positions of cross-attention: the queries see all real tokens of another sequence."""
    build = partial(build_mask, "bidirectional", attention_mask, n_key, device, n_query)
    query, key = positions_of(None, n_query, device), positions_of(attention_mask, n_key, device)
    return Positions(build, query, key, causal=False)


def positions_of(
    attention_mask: Bool[Tensor, "batch key"] | None, n_key: int, device: torch.device
) -> Int[Tensor, "#batch key"]:
    """Positions counted from each row's first real token; padding before it has position 0, as that token."""
    if attention_mask is None:
        return torch.arange(n_key, device=device)[None]
    return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)


def build_mask(
    attention_dir: str,
    attention_mask: Bool[Tensor, "batch key"] | None,
    n_key: int,
    device: torch.device,
    n_query: int | None = None,
) -> Mask:
    """Attention mask: no key after its query if causal, and never a padding token."""
    n_query = n_key if n_query is None else n_query
    if attention_dir == "causal":
        query = torch.arange(n_key - n_query, n_key, device=device)[:, None]
        mask = (torch.arange(n_key, device=device) <= query)[None, None]
    else:
        mask = torch.ones(1, 1, n_query, n_key, dtype=torch.bool, device=device)
    return mask if attention_mask is None else mask & attention_mask[:, None, None, :]
