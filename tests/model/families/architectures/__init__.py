"""Small configs of each of transformers' architectures, off the defaults: a module a family, with its `CONFIGS`."""

import importlib
import pkgutil
from collections.abc import Iterator

from transformers import PreTrainedConfig


def every() -> Iterator[tuple[str, PreTrainedConfig]]:
    """Each family's configs, by what tells them apart."""
    for module in pkgutil.iter_modules(__path__):
        configs = importlib.import_module(f"{__name__}.{module.name}").CONFIGS
        for name, config in configs.items():
            yield f"{module.name}: {name}", config
