"""ALBERT folders: BERT's layers, whose weights several layers share, and narrow embeddings.

Source: transformers' AlbertConfig and modeling_albert.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.decoder import heads, mlp, norm
from headlight.model.checkpoints.families import bert
from headlight.model.checkpoints.keys import ENCODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, linear, vector
from headlight.model.nn.config import TransformerConfig

UNEMBED = "predictions.decoder"
IN = "encoder.embedding_hidden_mapping_in"


def settings(config: Any) -> dict[str, Any]:
    """Translate ALBERT's config to the fields of `TransformerConfig`."""
    return bert.settings(config) | {
        "n_layers": config.num_hidden_layers * config.inner_group_num,
        "d_embed": config.embedding_size,
        "project_embeddings": True,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map ALBERT's checkpoint tensors to parameter names."""
    weights = bert.embeddings(cfg)
    weights["embed_project.W"] = linear(f"{IN}.weight", cfg.d_embed or 0, cfg.d_model)
    weights["embed_project.b"] = vector(f"{IN}.bias", cfg.d_model)
    for layer in range(cfg.n_layers):
        repetition, inner = divmod(layer, config.inner_group_num)
        group = int(repetition / (config.num_hidden_layers / config.num_hidden_groups))  # rounded as transformers does
        of_layer = _layer(cfg, f"encoder.albert_layer_groups.{group}.albert_layers.{inner}.")
        weights |= {f"blocks.{layer}.{name}": weight for name, weight in of_layer.items()}
    weights |= bert.mlm_head(cfg, "predictions.dense", "predictions.LayerNorm")
    return weights | bert.unembed(cfg, UNEMBED, "predictions.bias")


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return {
        **heads(cfg, f"{at}attention.", "dense", read=("query", "key", "value")),
        **norm("ln1", f"{at}attention.LayerNorm", cfg.d_model),
        **mlp(cfg, f"{at}ffn", f"{at}ffn_output"),
        **norm("ln2", f"{at}full_layer_layer_norm", cfg.d_model),
    }


FAMILY = Architecture(
    "albert",
    settings,
    weight_map,
    Keys((*bert.READ, "embedding_size", "num_hidden_groups", "inner_group_num"), ENCODER),
    prefix="albert.",
    embedding=bert.EMBEDDING,
    ignored=r"embeddings\.position_ids|pooler\..*|sop_classifier\..*|predictions\.(decoder\.)?bias",
    unembed=f"{UNEMBED}.weight",
    twins=(("predictions.bias", f"{UNEMBED}.bias"),),
).family
