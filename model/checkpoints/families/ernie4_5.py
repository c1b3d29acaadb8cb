"""ERNIE 4.5 folders: Llama's layers, where neighbouring components of a head are turned together.

Source: transformers' Ernie4_5Config and modeling_ernie4_5.
"""

from types import SimpleNamespace
from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import glm, llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map ERNIE 4.5's checkpoint tensors to parameter names."""
    return llama.weight_map(cfg, SimpleNamespace(attention_bias=config.use_bias, mlp_bias=config.use_bias))


KEYS = Keys((*llama.BASE, "rms_norm_eps", "use_bias"))
FAMILY = Architecture("ernie4_5", glm.settings, weight_map, KEYS).family
