"""StableLM folders: Llama's layers with LayerNorms, and rotary positions in a part of each head.

Source: transformers' StableLmConfig and modeling_stablelm.
"""

from typing import Any

import torch
from torch import Tensor

from headlight.model.config import TransformerConfig
from headlight.model.families import llama
from headlight.model.families.architecture import Architecture, activation, layers
from headlight.model.families.decoder import embedding, heads, norm, sizes
from headlight.model.families.pieces import Piece, Pieces, joined, vector
from headlight.model.families.rope import rotary


def settings(config: Any) -> dict[str, Any]:
    """StableLM's settings under the names of `TransformerConfig`."""
    of_all = sizes(config, config.num_key_value_heads)
    return of_all | {
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.hidden_act),
        "gated_mlp": True,
        "eps": config.layer_norm_eps,
        "use_qk_norm": config.qk_layernorm,
        "qk_norm_per_head": config.qk_layernorm,
        "parallel_attn_mlp": config.use_parallel_residual,
        **rotary(config, of_all["d_head"]),
    }


def pieces(cfg: TransformerConfig, config: Any) -> Pieces:
    """Where StableLM's parameters lie."""
    return (
        layers(cfg, lambda layer: _layer(cfg, config, layer))
        | norm("ln_final", "norm", cfg.d_model)
        | embedding(cfg, "embed_tokens.weight")
    )


def _layer(cfg: TransformerConfig, config: Any, at: str) -> Pieces:
    found = (
        norm("ln1", f"{at}input_layernorm", cfg.d_model)
        | heads(cfg, f"{at}self_attn.", "o_proj", config.use_qkv_bias, write_bias=False)
        | llama.gated_mlp(cfg, config, at)
    )
    if not cfg.parallel_attn_mlp:
        found |= norm("ln2", f"{at}post_attention_layernorm", cfg.d_model)
    if cfg.use_qk_norm:
        found["attn.q_norm.w"] = _gains(f"{at}self_attn.q_layernorm", cfg.n_heads, cfg.d_head)
        found["attn.k_norm.w"] = _gains(f"{at}self_attn.k_layernorm", config.num_key_value_heads, cfg.d_head)
    return found


def _gains(name: str, n_heads: int, d_head: int) -> Piece:
    """The heads' gains, each a tensor of its own, one above the other."""
    return joined(*(vector(f"{name}.norms.{head}.weight", d_head) for head in range(n_heads)), by=_stacked)


def _stacked(*gains: Tensor) -> Tensor:
    return torch.stack(gains)


FAMILY = Architecture("stablelm", settings, pieces).family
