"""Seed-OSS folders: Llama's layers, whose attention has biases of queries, keys and values apart from the output's.

Source: transformers' SeedOssConfig and modeling_seed_oss.
"""

from typing import Any

from headlight.model.config import TransformerConfig
from headlight.model.families import llama
from headlight.model.families.architecture import Architecture, layers
from headlight.model.families.pieces import Pieces, vector


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where Seed-OSS's parameters lie."""
    found = {name: piece for name, piece in llama.pieces(cfg, config).items() if not name.endswith("attn.b_O")}
    return found | layers(cfg, lambda layer: _output_bias(cfg, config, layer))


def _output_bias(cfg: TransformerConfig, config: Any, layer: str) -> Pieces:
    if not config.attention_out_bias:
        return {}
    return {"attn.b_O": vector(f"{layer}self_attn.o_proj.bias", cfg.d_model)}


FAMILY = Architecture("seed_oss", llama.settings, pieces).family
