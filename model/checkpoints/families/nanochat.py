"""nanochat folders: norms without gains, of embeddings, queries and keys too, and an MLP with the square of a ReLU.

Queries and keys are normalised behind their positions, which turn them the other way.

Source: transformers' NanoChatConfig and modeling_nanochat.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import embedding, mlp
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate nanochat's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {
        "gated_mlp": False,
        "normalization_type": "RMSPre",
        "embeddings_ln": True,
        "use_qk_norm": True,
        "qk_norm_after_rotary": True,
        "rotary_clockwise": True,
        "output_logits_soft_cap": config.final_logit_softcapping,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map nanochat's checkpoint tensors to parameter names."""
    return embedding(cfg, "embed_tokens.weight") | layers(cfg, lambda layer: _layer(cfg, config, layer))


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    return llama.attention(cfg, config, at) | mlp(cfg, f"{at}mlp.fc1", f"{at}mlp.fc2", bias=False)


KEYS = Keys((*llama.BASE, "rms_norm_eps", "attention_bias", "final_logit_softcapping"))
FAMILY = Architecture("nanochat", settings, weight_map, KEYS).family
