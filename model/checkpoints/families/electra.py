"""ELECTRA folders: BERT's layers, with embeddings that may be narrower than the stream.

A generator predicts masked tokens; a discriminator has one output at each token, which says that it was replaced.

Source: transformers' ElectraConfig and modeling_electra.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import bert
from headlight.model.checkpoints.keys import ENCODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, linear, vector
from headlight.model.nn.config import TransformerConfig

UNEMBED = "generator_lm_head"


def settings(config: Any) -> dict[str, Any]:
    """Translate ELECTRA's config to the fields of `TransformerConfig`; its head's activation is always GELU."""
    return bert.settings(config) | {"d_embed": config.embedding_size, "mlm_act_fn": "gelu"}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map ELECTRA's checkpoint tensors to parameter names."""
    weights = bert.embeddings(cfg) | layers(cfg, lambda at: bert.layer(cfg, at), bert.LAYER)
    if cfg.d_embed != cfg.d_model:
        weights["embed_project.W"] = linear("embeddings_project.weight", cfg.d_embed or 0, cfg.d_model)
        weights["embed_project.b"] = vector("embeddings_project.bias", cfg.d_model)
    weights |= bert.mlm_head(cfg, "generator_predictions.dense", "generator_predictions.LayerNorm")
    return weights | bert.unembed(cfg, UNEMBED, f"{UNEMBED}.bias")


FAMILY = Architecture(
    "electra",
    settings,
    weight_map,
    Keys((*bert.READ, "embedding_size"), ENCODER),
    prefix="electra.",
    embedding=bert.EMBEDDING,
    ignored=r"embeddings\.position_ids",
    unembed=f"{UNEMBED}.weight",
).family
