"""Qwen3 folders: Llama's layers with an RMSNorm of each head's query and key, some of them within a window.

Source: transformers' Qwen3Config and modeling_qwen3.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import llama, qwen2
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import Pieces, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Qwen3's settings under the names of `TransformerConfig`."""
    return llama.settings(config) | qwen2.windows(config) | {"use_qk_norm": True}


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where Qwen3's parameters lie."""
    return llama.pieces(cfg, config) | layers(cfg, lambda layer: head_norms(cfg, layer))


def head_norms(cfg: TransformerConfig, layer: str) -> Pieces:
    """The gains of the norms of queries and keys, which all heads share."""
    return {
        "attn.q_norm.w": vector(f"{layer}self_attn.q_norm.weight", cfg.d_head),
        "attn.k_norm.w": vector(f"{layer}self_attn.k_norm.weight", cfg.d_head),
    }


FAMILY = Architecture("qwen3", settings, pieces, Keys((*qwen2.READ, "attention_bias"))).family
