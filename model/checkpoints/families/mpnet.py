"""MPNet folders: RoBERTa's layers, with a bias for the distance of query and key that all of them share.

Source: transformers' MPNetConfig and modeling_mpnet.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, heads, mlp, norm
from headlight.model.checkpoints.families import bert
from headlight.model.checkpoints.keys import ENCODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, table
from headlight.model.nn.config import TransformerConfig

UNEMBED = "lm_head.decoder"
FIRST = 2  # the row of the first position, whatever the padding's id
BUCKETS = 32  # of distances, whatever config.json says


def settings(config: Any) -> dict[str, Any]:
    """Translate MPNet's config to the fields of `TransformerConfig`; its head's activation is always GELU."""
    return bert.encoder(config) | {
        "n_ctx": config.max_position_embeddings - FIRST,
        "positional_embedding_type": "standard_and_relative",
        "relative_attention_num_buckets": BUCKETS,
        "d_mlp": config.intermediate_size,
        "act_fn": activation(config.hidden_act),
        "mlm_act_fn": "gelu",
        "eps": config.layer_norm_eps,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map MPNet's checkpoint tensors to parameter names."""
    weights = bert.embeddings(cfg, FIRST) | layers(cfg, lambda at: _layer(cfg, at), bert.LAYER)
    weights["blocks.0.attn.rel_pos_bias.weight"] = table("encoder.relative_attention_bias.weight", BUCKETS, cfg.n_heads)
    return (
        weights | bert.mlm_head(cfg, "lm_head.dense", "lm_head.layer_norm") | bert.unembed(cfg, UNEMBED, "lm_head.bias")
    )


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return {
        **heads(cfg, f"{at}attention.attn.", "o", read="qkv"),
        **norm("ln1", f"{at}attention.LayerNorm", cfg.d_model),
        **mlp(cfg, f"{at}intermediate.dense", f"{at}output.dense"),
        **norm("ln2", f"{at}output.LayerNorm", cfg.d_model),
    }


FAMILY = Architecture(
    "mpnet",
    settings,
    weight_map,
    Keys(
        (*READ, "max_position_embeddings", "intermediate_size", "hidden_act", "layer_norm_eps"),
        ENCODER | {"relative_attention_num_buckets": (BUCKETS,)},
    ),
    prefix="mpnet.",
    embedding=bert.EMBEDDING,
    ignored=r"embeddings\.position_ids|pooler\..*|lm_head\.(decoder\.)?bias",
    unembed=f"{UNEMBED}.weight",
    twins=(("lm_head.bias", f"{UNEMBED}.bias"),),
).family
