"""StableLM folders: Llama's layers with LayerNorms, and rotary positions in a part of each head.

Source: transformers' StableLmConfig and modeling_stablelm.
"""

from typing import Any

import torch

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import heads, norm, outside
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, joined, vector
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate StableLM's config to the fields of `TransformerConfig`."""
    return llama.settings(config) | {
        "normalization_type": "LN",
        "eps": config.layer_norm_eps,
        "use_qk_norm": config.qk_layernorm,
        "qk_norm_per_head": config.qk_layernorm,
        "parallel_attn_mlp": config.use_parallel_residual,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map StableLM's checkpoint tensors to parameter names."""
    return layers(cfg, lambda layer: _layer(cfg, config, layer)) | outside(cfg, "norm", "embed_tokens.weight")


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    weights = (
        norm("ln1", f"{at}input_layernorm", cfg.d_model)
        | heads(cfg, f"{at}self_attn.", "o_proj", config.use_qkv_bias, write_bias=False)
        | llama.gated_mlp(cfg, config, at)
    )
    if not cfg.parallel_attn_mlp:
        weights |= norm("ln2", f"{at}post_attention_layernorm", cfg.d_model)
    if cfg.use_qk_norm:
        weights["attn.q_norm.w"] = _gains(f"{at}self_attn.q_layernorm", cfg.n_heads, cfg.d_head)
        weights["attn.k_norm.w"] = _gains(f"{at}self_attn.k_layernorm", cfg.n_shared, cfg.d_head)
    return weights


def _gains(name: str, n_heads: int, d_head: int) -> WeightView:
    """The heads' gains, each a tensor of its own, one above the other."""
    gains = (vector(f"{name}.norms.{head}.weight", d_head) for head in range(n_heads))
    return joined(*gains, by=lambda *each: torch.stack(each))


KEYS = Keys(
    (
        *(*llama.BASE, "partial_rotary_factor", "layer_norm_eps", "use_qkv_bias", "qk_layernorm"),
        "use_parallel_residual",
    ),
    {"is_causal": (True,)},  # if not, transformers' implementations of attention compute different things
)
FAMILY = Architecture("stablelm", settings, weight_map, KEYS).family
