"""Ministral 3 folders: Mistral's layers, whose queries grow with the position beyond the first context.

Source: transformers' Ministral3Config and modeling_ministral3.
"""

from typing import Any

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import mistral
from headlight.model.checkpoints.families.llama import weight_map
from headlight.model.checkpoints.keys import Keys

GROWTH = {"llama_4_scaling_beta": "query_growth", "original_max_position_embeddings": "query_growth_n_ctx"}


def settings(config: Any) -> dict[str, Any]:
    """Translate Ministral 3's config to the fields of `TransformerConfig`.

    Raises:
        ConfigError: it does not say how queries grow.
    """
    for name in GROWTH:
        if config.rope_parameters.get(name) is None:
            raise ConfigError(f"config.json's rope_parameters lack {name}, which a ministral3 model has.")
    growth = {ours: config.rope_parameters[name] for name, ours in GROWTH.items()}
    return mistral.settings(config) | {name: value for name, value in growth.items() if growth["query_growth"]}


FAMILY = Architecture("ministral3", settings, weight_map, Keys(mistral.READ)).family
