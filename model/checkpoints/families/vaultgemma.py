"""VaultGemma folders: Gemma 2's layers without the norms behind attention and MLP.

Source: transformers' VaultGemmaConfig and modeling_vaultgemma.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import gemma2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate VaultGemma's config to the fields of `TransformerConfig`."""
    return gemma2.settings(config) | {"use_normalization_before_and_after": False}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map VaultGemma's checkpoint tensors to parameter names."""
    return {name: weight for name, weight in gemma2.weight_map(cfg, config).items() if "_post.w" not in name}


KEYS = Keys((*gemma2.BASE, "attn_logit_softcapping"))
FAMILY = Architecture("vaultgemma", settings, weight_map, KEYS).family
