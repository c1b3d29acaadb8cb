"""ESM folders, models of proteins: BERT with norms before attention and MLP, and rotary or RoBERTa's positions.

Source: transformers' EsmConfig and modeling_esm.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import READ, heads, mlp, norm, sizes
from headlight.model.checkpoints.families import bert, roberta
from headlight.model.checkpoints.keys import ENCODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, linear, table, vector
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.layers.rotary import build_rotary

UNEMBED = "lm_head.decoder"
KEPT = 1 - 0.15 * 0.8  # share of tokens that training did not mask, of which no config tells


def settings(config: Any) -> dict[str, Any]:
    """Translate ESM's config to the fields of `TransformerConfig`; its activations are always GELU."""
    if config.token_dropout and config.mask_token_id is None:
        raise ConfigError("config.json sets token_dropout and no mask_token_id, the token that is dropped. Add that.")
    rotary = config.position_embedding_type == "rotary"
    dropout = {"embedding_scale": KEPT, "token_dropout": config.mask_token_id} if config.token_dropout else {}
    return (
        sizes(config)
        | dropout
        | {
            "n_ctx": config.max_position_embeddings - (0 if rotary else roberta.first_position(config)),
            "attention_dir": "bidirectional",
            "positional_embedding_type": "rotary" if rotary else "standard",
            "rotary_base": config.rope_theta,
            "d_mlp": config.intermediate_size,
            "act_fn": "gelu",
            "mlm_act_fn": "gelu",
            "eps": config.layer_norm_eps,
            "embeddings_ln": bool(config.emb_layer_norm_before),
            "output_bias": True,
        }
    )


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map ESM's checkpoint tensors to parameter names."""
    weights = {"embed.W_E": table(bert.EMBEDDING, cfg.d_vocab, cfg.d_model)}
    weights |= layers(cfg, lambda at: _layer(cfg, at), bert.LAYER)
    weights |= norm("ln_final", "encoder.emb_layer_norm_after", cfg.d_model)
    weights |= bert.mlm_head(cfg, "lm_head.dense", "lm_head.layer_norm")
    weights["unembed.b_U"] = vector("lm_head.bias", cfg.d_vocab)
    if cfg.embeddings_ln:
        weights |= norm("embed_ln", "embeddings.layer_norm", cfg.d_model)
    if cfg.positional_embedding_type == "standard":
        positions, first = "embeddings.position_embeddings.weight", roberta.first_position(config)
        weights["pos_embed.W_pos"] = table(positions, cfg.n_ctx, cfg.d_model, first)
    if not cfg.tie_word_embeddings:
        weights["unembed.W_U"] = linear(f"{UNEMBED}.weight", cfg.d_model, cfg.d_vocab)
    return weights


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    return {
        **heads(cfg, f"{at}attention.", "output.dense", read=("self.query", "self.key", "self.value")),
        **norm("ln1", f"{at}attention.LayerNorm", cfg.d_model),
        **mlp(cfg, f"{at}intermediate.dense", f"{at}output.dense"),
        **norm("ln2", f"{at}LayerNorm", cfg.d_model),
    }


def check_frequencies(cfg: TransformerConfig, tensors: Mapping[str, Tensor]) -> None:
    """Refuse frequencies beside the weights, by which transformers goes, that are not those of config.json."""
    stored = next((tensor for name, tensor in tensors.items() if name.endswith("rotary_embeddings.inv_freq")), None)
    rotary = build_rotary(cfg, 0)
    if stored is None or rotary is None:
        return
    frequencies = rotary.frequencies(cfg.n_ctx)
    if stored.shape != frequencies.shape or not torch.allclose(stored.float(), frequencies, rtol=1e-2):
        raise ConfigError(
            f"config.json's rope_theta ({cfg.rotary_base:g}) and number of heads ({cfg.n_heads}) are not those of the "
            "rotary frequencies beside the weights. Correct config.json."
        )


KEYS = Keys(
    (
        *(*READ, "max_position_embeddings", "intermediate_size", "layer_norm_eps", "rope_theta", "pad_token_id"),
        *("emb_layer_norm_before", "token_dropout", "mask_token_id", "vocab_list"),
    ),
    ENCODER
    | {
        "position_embedding_type": ("absolute", "rotary"),
        "is_folding_model": (False, None),
        "esmfold_config": (None,),
    },
)
FAMILY = Architecture(
    "esm",
    settings,
    weight_map,
    KEYS,
    prefix="esm.",
    embedding=bert.EMBEDDING,
    ignored=r"embeddings\.position_ids|.*rotary_embeddings\.inv_freq|pooler\..*|contact_head\..*"
    r"|embeddings\.position_embeddings\.weight",
    unembed=f"{UNEMBED}.weight",
    check=check_frequencies,
    example={"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
).family
