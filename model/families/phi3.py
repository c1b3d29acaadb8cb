"""Phi-3 folders: Llama's layers with queries, keys and values in one tensor, gate and linear part of MLPs in another.

Source: transformers' Phi3Config and modeling_phi3.
"""

from typing import Any

from headlight.model.config import TransformerConfig
from headlight.model.families import llama, mistral
from headlight.model.families.architecture import Architecture, layers
from headlight.model.families.pieces import Pieces, fused, linear, reading, writing


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where Phi-3's parameters lie."""
    found = layers(cfg, lambda layer: attention(cfg, layer) | gated_mlp(cfg, layer) | llama.norms(cfg, layer))
    return found | llama.outside(cfg)


def attention(cfg: TransformerConfig, layer: str) -> Pieces:
    """A layer's attention."""
    at, mark = f"{layer}self_attn.", "_" if cfg.is_grouped else ""
    n_shared = cfg.n_key_value_heads or cfg.n_heads
    counts = {"attn.W_Q": cfg.n_heads, f"attn.{mark}W_K": n_shared, f"attn.{mark}W_V": n_shared}
    read = {name: reading(f"{at}qkv_proj.weight", cfg.d_model, count, cfg.d_head) for name, count in counts.items()}
    return fused(read) | {"attn.W_O": writing(f"{at}o_proj.weight", cfg.n_heads, cfg.d_head, cfg.d_model)}


def gated_mlp(cfg: TransformerConfig, layer: str) -> Pieces:
    """A layer's MLP."""
    at, d_mlp = f"{layer}mlp.", cfg.d_mlp or 0
    into = {name: linear(f"{at}gate_up_proj.weight", cfg.d_model, d_mlp) for name in ("mlp.W_gate", "mlp.W_in")}
    return fused(into) | {"mlp.W_out": linear(f"{at}down_proj.weight", d_mlp, cfg.d_model)}


FAMILY = Architecture("phi3", mistral.settings, pieces).family
