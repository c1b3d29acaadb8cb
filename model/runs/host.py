"""Host of computations: local without a cache, or a server with a cache, a queue and a device."""

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits.means import mean_z
from headlight.model.text.chat import Begin

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


@runtime_checkable
class Keeper(Protocol):
    """An object with a cache for results computed from it: a run, or a comparison."""

    def keep(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return the cached result under this name, calling `make` on a miss."""


Subject = TypeVar("Subject", bound=Keeper)


def kept(compute: Callable[Concatenate[Subject, Arguments], Value]) -> Callable[Concatenate[Subject, Arguments], Value]:
    """Cache a function of a run, or of two, by its name and its other arguments.

    These are hashable, or have an `identity` that is.
    """
    signature = inspect.signature(compute)

    @functools.wraps(compute)
    def cached(keeper: Subject, /, *args: Arguments.args, **named: Arguments.kwargs) -> Value:
        bound = signature.bind(keeper, *args, **named)
        bound.apply_defaults()
        _, *others = bound.arguments.values()
        name = compute.__module__, compute.__qualname__, *(getattr(each, "identity", each) for each in others)
        return keeper.keep(name, lambda: compute(keeper, *args, **named))

    return cached


class Host:
    """Host of a notebook or script: computes everything on the model itself, without a cache.

    A server passes its runs a subclass with a cache, a bound on concurrent passes and a device. `caches` says whether
    what is computed for all heads at once is there for the next of them.
    """

    caches = False

    @property
    def device(self) -> torch.device:
        """Device of the passes."""
        return torch.device("cpu")

    def keep(self, key: tuple[Hashable, ...], make: Callable[[], Value]) -> Value:
        """Return the cached result under this key, calling `make` on a miss; this host never caches."""
        return make()

    def turn(self) -> AbstractContextManager[None]:
        """Wait for a slot among the concurrent passes, for the length of a `with` block."""
        return nullcontext()

    def tell(self, done: int, total: int) -> None:
        """Receive the progress of a computation; an exception raised here stops it."""

    def check(self) -> None:
        """Look, between two parts of a step, whether to go on; an exception raised here stops the computation."""

    def on_device(self, model: Transformer) -> Transformer:
        """The model where passes are to be made."""
        return model

    def mean_z(
        self, model: Transformer, prompts: Sequence[str], prepend_bos: Begin
    ) -> Float[Tensor, "layer head d_value"]:
        """Every head's mean z over the positions of prompts."""
        return mean_z(model, prompts, prepend_bos)


HERE = Host()


@dataclass
class Steps:
    """Counts the steps of a computation for its host."""

    host: Host
    total: int
    done: int = 0

    def __post_init__(self) -> None:
        self.host.tell(0, self.total)

    def add(self, count: int = 1) -> None:
        """Add this many completed steps."""
        self.done += count
        self.host.tell(self.done, self.total)
