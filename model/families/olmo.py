"""OLMo folders: Llama's layers with LayerNorms without gain and bias.

Source: transformers' OlmoConfig and modeling_olmo.
"""

from typing import Any

from headlight.model.config import TransformerConfig
from headlight.model.errors import ConfigError
from headlight.model.families import llama
from headlight.model.families.architecture import Architecture
from headlight.model.families.pieces import Pieces


def settings(config: Any) -> dict[str, Any]:
    """OLMo's settings under the names of `TransformerConfig`.

    Raises:
        ConfigError: queries, keys and values are clipped.
    """
    if config.clip_qkv is not None:
        raise ConfigError(
            f"config.json clips queries, keys and values at {config.clip_qkv} (clip_qkv), which is not supported: what "
            "a head reads would be no sum of parts."
        )
    return llama.settings(config) | {"normalization_type": "LNPre"}


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where OLMo's parameters lie."""
    return {name: piece for name, piece in llama.pieces(cfg, config).items() if not name.endswith(".w")}


FAMILY = Architecture("olmo", settings, pieces).family
