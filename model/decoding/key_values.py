"""The keys and values of positions that were run already, put before those of the new ones."""

from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.nn.hooks import Look, Tap


class KeyValueCache(Tap):
    """Keeps every layer's keys and values, and gives all of them so far for those of the new positions.

    It is the tap of one sequence of runs: the first without `n_past`, each later one with as many as went before. It
    keeps what the other taps of its `Chain` made of keys and values. The tensors it gives are never written to
    afterwards.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[_Positions, _Positions]] = {}

    def look(self, name: str) -> Look:
        return Look.NEVER

    def with_past(self, k: Tensor, v: Tensor, at: str = "") -> tuple[Tensor, Tensor]:
        if at not in self._kept:
            self._kept[at] = _Positions(k), _Positions(v)
        keys, values = self._kept[at]
        return keys.extend(k), values.extend(v)

    def within(self, prefix: str) -> Tap:
        return _Within(self, prefix)

    def clear(self) -> None:
        """Clear the cache, before a run of the whole text."""
        self._kept.clear()

    def select(self, rows: Int[Tensor, " chosen"]) -> None:
        """Go on with these rows of the batch, in this order; a row can be chosen more than once."""
        for kept in self._kept.values():
            for positions in kept:
                positions.select(rows)


class _Within(Tap):
    """The cache within a part of the model, where it reads no activation; called at every activation."""

    def __init__(self, cache: KeyValueCache, prefix: str) -> None:
        self._cache, self._prefix = cache, prefix

    def look(self, name: str) -> Look:
        return Look.NEVER

    def with_past(self, k: Tensor, v: Tensor, at: str = "") -> tuple[Tensor, Tensor]:
        return self._cache.with_past(k, v, self._prefix)

    def within(self, prefix: str) -> Tap:
        return _Within(self._cache, f"{self._prefix}.{prefix}")


class _Positions:
    """One activation at all positions so far, in a buffer that doubles when it is full.

    The buffer is [batch, head, pos, d_head]: so ordered, the einsums over keys and values copy nothing.
    """

    def __init__(self, first: Float[Tensor, "batch pos head d_head"]) -> None:
        self._n_pos = 0
        self._buffer = first.new_empty(first.transpose(1, 2).shape)

    def extend(self, new: Float[Tensor, "batch new head d_head"]) -> Float[Tensor, "batch pos head d_head"]:
        end = self._n_pos + new.shape[1]
        if end > self._buffer.shape[2]:
            self._replace(self._so_far(), capacity=max(end, 2 * self._buffer.shape[2]))
        self._buffer[:, :, self._n_pos : end] = new.transpose(1, 2)
        self._n_pos = end
        return self._so_far().transpose(1, 2)

    def select(self, rows: Int[Tensor, " chosen"]) -> None:
        self._replace(self._so_far()[rows], capacity=self._buffer.shape[2])

    def _so_far(self) -> Float[Tensor, "batch head pos d_head"]:
        return self._buffer[:, :, : self._n_pos]

    def _replace(self, kept: Float[Tensor, "batch head pos d_head"], capacity: int) -> None:
        """Into a new buffer, always: views of the old one may have been kept."""
        batch, n_heads, _, d_head = kept.shape
        self._buffer = kept.new_empty(batch, n_heads, capacity, d_head)
        self._buffer[:, :, : self._n_pos] = kept
