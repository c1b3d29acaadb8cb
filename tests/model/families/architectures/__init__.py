"""Small configs of each of transformers' architectures, off the defaults: a module a family, with its `CONFIGS`."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from transformers import PreTrainedConfig, PreTrainedModel


def every() -> Iterator[tuple[str, PreTrainedConfig]]:
    """Each family's configs, by what tells them apart."""
    for module in _modules():
        for name, config in module.CONFIGS.items():
            yield f"{module.__name__.rpartition('.')[2]}: {name}", config


def repair(model: PreTrainedModel) -> None:
    """Undo what transformers gets wrong in a model, where the module of its family knows of something."""
    for module in _modules():
        if hasattr(module, "repair"):
            module.repair(model)


def _modules() -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(__path__):
        yield importlib.import_module(f"{__name__}.{module.name}")
