"""Base of both model classes: names of activations, and runs that keep or edit them."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor, nn

from headlight.model.nn.hooks import Collect, CollectOnDemand, Edit, HookFunction, Look, NamesFilter, Tap, select_names


class HookedModel(nn.Module):
    """Model whose forward pass takes a tap. A subclass defines its shortest input."""

    @abstractmethod
    def _shortest_run(self, tap: Tap) -> object:
        """A run over as few tokens as the model takes."""

    @cached_property
    def hook_names(self) -> tuple[str, ...]:
        """The names of all activations in forward order, as a shortest run meets them."""
        names: list[str] = []

        class Record(Tap):
            def __call__(self, name: str, activation: Tensor) -> Tensor:
                names.append(name)
                return activation

            def look(self, name: str) -> Look:
                return Look.WHOLE

        with torch.inference_mode():
            self._shortest_run(Record())
        return tuple(names)

    def edit(self, fwd_hooks: Sequence[tuple[NamesFilter, HookFunction]]) -> Edit:
        """The tap that applies these hook functions; names are checked here, before any run.

        Raises:
            HookError: a name that the model does not have.
        """
        return Edit([(select_names(names, self.hook_names), function) for names, function in fwd_hooks])

    def _collect(self, names_filter: NamesFilter | None) -> Collect:
        if names_filter is not None:
            return Collect(select_names(names_filter, self.hook_names))
        names = [name for name in self.hook_names if not name.endswith("hook_result")]
        if not torch.is_inference_mode_enabled():  # gradients may be needed, which go through the pass itself
            return Collect(names)
        on_demand = [name for name in names if name.endswith(("hook_attn_scores", "hook_pattern"))]
        return CollectOnDemand(set(names) - set(on_demand), on_demand)
