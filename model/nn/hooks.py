"""Taps: hooks that read or replace the activations of a forward pass.

A tap is an argument of one forward pass, never state of a module, so that one model can serve many sessions at once.
At every named point the pass calls `tap(name, activation)` and goes on with what comes back. Reading, editing and
reducing are all taps; they combine with `Chain`.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any

from torch import Tensor

from headlight.model.base.errors import HookError, nearest

NamesFilter = str | Sequence[str] | Callable[[str], bool]
HookFunction = Callable[..., Tensor | None]


class Look(IntEnum):
    """Need of a tap for an activation, in increasing order of cost to the pass; NEVER is false."""

    NEVER = 0  # it gives it back as it is, unseen
    LATER = 1  # it is content with what computes it when the pass is over
    WHOLE = 2


class Tap:
    """Tap that does nothing; the base class of the others."""

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        """Take the named activation and return the one with which the pass continues."""
        return activation

    def look(self, name: str) -> Look:
        """Declare whether this tap needs the activation, so that the forward pass can skip computing unused ones.

        By default a tap gets all activations but those that would be computed for it alone.
        """
        return Look.NEVER if name.endswith("hook_result") else Look.WHOLE

    def later(self, name: str, compute: Callable[[], Tensor]) -> None:
        """Receive a function that computes an activation after the pass, for taps that ask for it later."""

    def with_past(self, k: Tensor, v: Tensor, at: str = "") -> tuple[Tensor, Tensor]:
        """The keys and values of all positions so far, where those of earlier ones are to stand before the new.

        They come as they are compared and mixed; `at` is the name of the attention that asks.
        """
        return k, v

    def within(self, prefix: str) -> "Tap":
        """This tap for a part of the model, which names its activations without the prefix."""
        return _Within(self, prefix)


class _NoTap(Tap):
    def look(self, name: str) -> Look:
        return Look.NEVER

    def within(self, prefix: str) -> Tap:
        return self


NO_TAP: Tap = _NoTap()


class _Within(Tap):
    def __init__(self, tap: Tap, prefix: str) -> None:
        self._tap, self._prefix = tap, prefix

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        return self._tap(f"{self._prefix}.{name}", activation)

    def look(self, name: str) -> Look:
        return self._tap.look(f"{self._prefix}.{name}")

    def later(self, name: str, compute: Callable[[], Tensor]) -> None:
        self._tap.later(f"{self._prefix}.{name}", compute)

    def with_past(self, k: Tensor, v: Tensor, at: str = "") -> tuple[Tensor, Tensor]:
        return self._tap.with_past(k, v, f"{self._prefix}.{at}" if at else self._prefix)

    def within(self, prefix: str) -> Tap:
        return _Within(self._tap, f"{self._prefix}.{prefix}")


class WithGradient(Tap):
    """Makes the embedding something that gradients go to, so that they reach all that comes after it."""

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        return activation.detach().requires_grad_() if name == "hook_embed" else activation


class Collect(Tap):
    """Keeps `reduce(activation)` (the activation itself by default) of each of the names, in forward order."""

    def __init__(self, names: Iterable[str], reduce: Callable[[Tensor], Any] = lambda activation: activation) -> None:
        self._names, self._reduce = frozenset(names), reduce
        self.kept: dict[str, Any] = {}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name in self._names:
            self.kept[name] = self._reduce(activation)
        return activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._names else Look.NEVER


class CollectOnDemand(Collect):
    """Keep the named activations; for those `on_demand` a function that computes them, unless a tap needs them."""

    def __init__(self, names: Iterable[str], on_demand: Iterable[str]) -> None:
        self._on_demand = frozenset(on_demand)
        super().__init__(self._on_demand.union(names))

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        return activation if name in self.kept else super().__call__(name, activation)

    def look(self, name: str) -> Look:
        return Look.LATER if name in self._on_demand else super().look(name)

    def later(self, name: str, compute: Callable[[], Tensor]) -> None:
        self.kept[name] = compute


class BeforeLayers(Tap):
    """Tap that calls a function with each layer's index before the layer, as to show progress or to stop a pass."""

    def __init__(self, call: Callable[[int], object]) -> None:
        self._call = call

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if self.look(name):
            self._call(int(name.split(".")[-2]))
        return activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if name.endswith(".hook_resid_pre") else Look.NEVER


class HookPoint:
    """The hook point that a hook function is called at; `ctx` is a dict of its own for one run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ctx: dict[str, Any] = {}

    def layer(self) -> int:
        """The index of the block that the activation belongs to.

        Raises:
            HookError: the activation belongs to no block.
        """
        parts = self.name.split(".")
        if "blocks" not in parts:
            raise HookError(f"{self.name} belongs to no layer; only names with 'blocks.' do.")
        return int(parts[parts.index("blocks") + 1])


class Edit(Tap):
    """Replace activations by the results of hook functions, in order.

    Each function gets a copy: an edit in place must reach neither the weights nor an activation already kept. A
    function that returns None has made its edit, if any, in place.
    """

    def __init__(self, hooks: Sequence[tuple[Sequence[str], HookFunction]]) -> None:
        self._functions: dict[str, list[HookFunction]] = {}
        for names, function in hooks:
            for name in names:
                self._functions.setdefault(name, []).append(function)
        self._points = {name: HookPoint(name) for name in self._functions}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        for function in self._functions.get(name, ()):
            copy = activation.clone()
            returned = function(copy, hook=self._points[name])
            activation = _checked(name, activation, copy if returned is None else returned)
        return activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._functions else Look.NEVER


def _checked(name: str, before: Tensor, after: object) -> Tensor:
    if not isinstance(after, Tensor):
        raise HookError(f"The hook at {name} returned {type(after).__name__}; it has to return a tensor or None.")
    if after.shape[1:] != before.shape[1:] or before.shape[0] not in (1, after.shape[0]):
        raise HookError(
            f"The hook at {name} returned shape {list(after.shape)}; the activation's shape is {list(before.shape)}. "
            "Return a tensor of the same shape; only a batch of one may become a larger batch."
        )
    return after


class Chain(Tap):
    """Several taps at every point, each applied to the result of the one before it."""

    def __init__(self, *taps: Tap) -> None:
        self._taps = taps

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        for tap in self._taps:
            activation = tap(name, activation)
        return activation

    def look(self, name: str) -> Look:
        looks = {tap.look(name) for tap in self._taps} - {Look.NEVER}
        return Look.WHOLE if len(looks) > 1 else next(iter(looks), Look.NEVER)

    def later(self, name: str, compute: Callable[[], Tensor]) -> None:
        for tap in self._taps:
            if tap.look(name) is Look.LATER:
                tap.later(name, compute)

    def with_past(self, k: Tensor, v: Tensor, at: str = "") -> tuple[Tensor, Tensor]:
        for tap in self._taps:
            k, v = tap.with_past(k, v, at)
        return k, v


def select_names(names_filter: NamesFilter, hook_names: Sequence[str]) -> list[str]:
    """The hook names that a name, a list of names or a predicate chooses, in forward order.

    Raises:
        HookError: a name that the model does not have; the message gives the nearest ones.
    """
    if callable(names_filter):
        return [name for name in hook_names if names_filter(name)]
    wanted = {names_filter} if isinstance(names_filter, str) else set(names_filter)
    for name in sorted(wanted - set(hook_names)):
        raise HookError(f"This model has no activation {name!r}.{nearest(name, hook_names)} See model.hook_names.")
    return [name for name in hook_names if name in wanted]
