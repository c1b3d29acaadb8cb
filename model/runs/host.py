"""Where things are computed: here and anew each time, or where a server keeps results, lets few in and has a device."""

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
    """What things are computed of, and whose host may keep them: a run, or two beside each other."""

    def keep(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` gives, or has given under this name."""


Of = TypeVar("Of", bound=Keeper)


def kept(compute: Callable[Concatenate[Of, Arguments], Value]) -> Callable[Concatenate[Of, Arguments], Value]:
    """A function of a run, or of two, whose results are kept by its name and what else it is given.

    What is given is hashable, or has an `identity` that tells it from all others.
    """
    signature = inspect.signature(compute)

    @functools.wraps(compute)
    def cached(of: Of, /, *args: Arguments.args, **named: Arguments.kwargs) -> Value:
        bound = signature.bind(of, *args, **named)
        bound.apply_defaults()
        _, *others = bound.arguments.values()
        name = compute.__module__, compute.__qualname__, *(getattr(each, "identity", each) for each in others)
        return of.keep(name, lambda: compute(of, *args, **named))

    return cached


class Host:
    """What a notebook or a script needs: everything is computed when it is asked for, on the model itself.

    A server makes one of its own, and hands it to its runs.
    """

    @property
    def device(self) -> torch.device:
        """Where passes are made."""
        return torch.device("cpu")

    def keep(self, key: tuple[Hashable, ...], make: Callable[[], Value]) -> Value:
        """What `make` gives, or has given under this key."""
        return make()

    def turn(self) -> AbstractContextManager[None]:
        """A place among the passes under way, for the length of a `with` block."""
        return nullcontext()

    def tell(self, done: int, total: int) -> None:
        """Hear how many of a computation's steps are done; what is raised here ends it."""

    def on_device(self, model: Transformer) -> Transformer:
        """The model where passes are to be made."""
        return model

    def mean_z(
        self, model: Transformer, prompts: Sequence[str], prepend_bos: Begin
    ) -> Float[Tensor, "layer head d_value"]:
        """What every head gives on average over the positions of prompts."""
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
        """So many more are done."""
        self.done += count
        self.host.tell(self.done, self.total)
