"""RoBERTa folders: BERT's layers, with positions that are counted from behind the padding's id.

Source: transformers' RobertaConfig and modeling_roberta.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import bert
from headlight.model.checkpoints.keys import ENCODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig

UNEMBED = "lm_head.decoder"


def settings(config: Any) -> dict[str, Any]:
    """Translate RoBERTa's config to the fields of `TransformerConfig`; its head's activation is always GELU."""
    n_ctx = config.max_position_embeddings - first_position(config)
    return bert.settings(config) | {"n_ctx": n_ctx, "mlm_act_fn": "gelu"}


def first_position(config: Any) -> int:
    """The row at which the first token's position lies."""
    return int(config.pad_token_id) + 1


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map RoBERTa's checkpoint tensors to parameter names."""
    weights = bert.embeddings(cfg, first_position(config)) | layers(cfg, lambda at: bert.layer(cfg, at), bert.LAYER)
    return (
        weights | bert.mlm_head(cfg, "lm_head.dense", "lm_head.layer_norm") | bert.unembed(cfg, UNEMBED, "lm_head.bias")
    )


ARCHITECTURE = Architecture(
    "roberta",
    settings,
    weight_map,
    Keys((*bert.READ, "pad_token_id"), ENCODER),
    prefix="roberta.",
    embedding=bert.EMBEDDING,
    ignored=r"embeddings\.position_ids|pooler\..*|lm_head\.(decoder\.)?bias",
    unembed=f"{UNEMBED}.weight",
    twins=(("lm_head.bias", f"{UNEMBED}.bias"),),
)
FAMILY = ARCHITECTURE.family
