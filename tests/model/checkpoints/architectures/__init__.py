"""Small configs of each of transformers' architectures, off the defaults: a module a family, with its `CONFIGS`.

A module may say which of transformers' classes opens them (`MODEL`), where its positions begin (`first_position`), and
which matrices are no views of the file (`COPIED`, a pattern of names).
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel


class Case(NamedTuple):
    """A config, the class that makes a model of it, and the id of its first position."""

    config: PreTrainedConfig
    model: Any = AutoModelForCausalLM
    first_position: Callable[[Any], int] = lambda config: 0
    copied: str = ""

    @property
    def writes(self) -> bool:
        """Whether the model generates text."""
        return self.model is AutoModelForCausalLM


def every() -> Iterator[tuple[str, Case]]:
    """Each family's configs, by what tells them apart."""
    for module in _modules():
        options = {
            name.lower(): getattr(module, name)
            for name in ("MODEL", "first_position", "COPIED")
            if hasattr(module, name)
        }
        for name, config in module.CONFIGS.items():
            yield f"{module.__name__.rpartition('.')[2]}: {name}", Case(config, **options)


def repair(model: PreTrainedModel) -> None:
    """Undo what transformers gets wrong in a model, where the module of its family knows of something."""
    for module in _modules():
        if hasattr(module, "repair"):
            module.repair(model)


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
