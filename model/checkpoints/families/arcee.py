"""Arcee folders, AFM's: Llama's layers whose MLPs have no gate, with the square of a ReLU.

Source: transformers' ArceeConfig and modeling_arcee.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import mlp
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Arcee's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {"gated_mlp": False}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Arcee's checkpoint tensors to parameter names."""
    return llama.outside(cfg) | layers(cfg, lambda layer: _layer(cfg, config, layer))


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    return llama.attention(cfg, config, at) | plain_mlp(cfg, config, at) | llama.norms(cfg, at)


def plain_mlp(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    """A layer's MLP without a gate, with the biases that the config asks for."""
    return mlp(cfg, f"{at}mlp.up_proj", f"{at}mlp.down_proj", getattr(config, "mlp_bias", False))


FAMILY = Architecture("arcee", settings, weight_map, Keys(llama.READ)).family
