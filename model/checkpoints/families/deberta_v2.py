"""DeBERTa folders of versions 2 and 3: BERT's layers, whose scores know how far a key is from its query.

The largest have a convolution over neighbouring tokens behind the first layer.

The queries and keys of distances are computed on opening, of one embedding of distances for all layers.

Source: transformers' DebertaV2Config and modeling_deberta_v2.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import heads, mlp, norm
from headlight.model.checkpoints.families import bert
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, joined, reading, reading_bias, table, vector
from headlight.model.nn.config import TransformerConfig

DISTANCES = "encoder.rel_embeddings.weight"
NORM = "encoder.LayerNorm"
ROLES = {"c2p": ("K", "key"), "p2c": ("Q", "query")}


def settings(config: Any) -> dict[str, Any]:
    """Translate DeBERTa's config to the fields of `TransformerConfig`."""
    if config.embedding_size not in (None, config.hidden_size):
        raise ConfigError(
            f"config.json sets embedding_size to {config.embedding_size!r}; supported is hidden_size, which is "
            f"{config.hidden_size!r}."
        )
    kinds = tuple(kind for kind in ROLES if kind in (config.pos_att_type or ()))
    longest, buckets = config.max_relative_positions, config.position_buckets
    kernel, conv_act = getattr(config, "conv_kernel_size", None), getattr(config, "conv_act", None) or "tanh"
    return bert.settings(config) | {
        "n_token_types": config.type_vocab_size or None,
        "attn_scale": (config.hidden_size // config.num_attention_heads * (1 + len(kinds))) ** 0.5,
        "positional_embedding_type": "standard" if config.position_biased_input else "none",
        "disentangled_attention": kinds if config.relative_attention else (),
        "position_buckets": max(buckets or 0, 0),
        "relative_attention_max_distance": longest if (longest or 0) > 0 else config.max_position_embeddings,
        "conv_kernel_size": None if kernel in (None, 0, -1) else kernel,
        "conv_groups": getattr(config, "conv_groups", None) or 1,
        "conv_act_fn": conv_act if conv_act == "tanh" else activation(conv_act),
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map DeBERTa's checkpoint tensors to parameter names."""
    weights = bert.embeddings(cfg)
    if cfg.positional_embedding_type == "none":
        del weights["pos_embed.W_pos"]
    weights |= layers(cfg, lambda at: _layer(cfg, config, at), bert.LAYER)
    if cfg.conv_kernel_size:
        weights |= layers(cfg, lambda at: _convolution(cfg), only=[0])
    at = "cls.predictions."
    head = bert.mlm_head(cfg, f"{at}transform.dense", f"{at}transform.LayerNorm")
    return weights | head | bert.unembed(cfg, f"{at}decoder", f"{at}bias")


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    read = ("self.query_proj", "self.key_proj", "self.value_proj")
    return {
        **heads(cfg, f"{at}attention.", "output.dense", read=read),
        **norm("ln1", f"{at}attention.output.LayerNorm", cfg.d_model),
        **mlp(cfg, f"{at}intermediate.dense", f"{at}output.dense"),
        **norm("ln2", f"{at}output.LayerNorm", cfg.d_model),
        **_distances(cfg, config, f"{at}attention.self."),
    }


def _convolution(cfg: TransformerConfig) -> WeightMap:
    shape = cfg.d_model, cfg.d_model // cfg.conv_groups, cfg.conv_kernel_size or 0
    return {
        "conv.W": WeightView("encoder.conv.conv.weight", shape),
        "conv.b": vector("encoder.conv.conv.bias", cfg.d_model),
        **norm("ln_conv", "encoder.conv.LayerNorm", cfg.d_model),
    }


def _distances(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    """Queries and keys of distances, by the weights of tokens' or by their own."""
    n_rows = 2 * (cfg.position_buckets or cfg.relative_attention_max_distance)
    normed = config.norm_rel_ebd == "layer_norm"
    norms = [vector(f"{NORM}.{part}", cfg.d_model) for part in ("weight", "bias")] if normed else []

    def project(
        rows: Tensor, W: Float[Tensor, "head d_model d_head"], b: Float[Tensor, "head d_head"], *norms: Tensor
    ) -> Float[Tensor, "row head d_head"]:
        rows = rows.float()
        if norms:
            weight, bias = (part.float() for part in norms)
            rows = F.layer_norm(rows, rows.shape[1:], weight, bias, cfg.eps)
        return torch.einsum("rm,hmd->rhd", rows, W.float()) + b.float()

    weights: WeightMap = {}
    for kind in cfg.disentangled_attention:
        ours, role = ROLES[kind]
        name = f"{at}{role}_proj" if config.share_att_key else f"{at}pos_{role}_proj"
        W = reading(f"{name}.weight", cfg.d_model, cfg.n_heads, cfg.d_head)
        b = reading_bias(f"{name}.bias", cfg.n_heads, cfg.d_head)
        rows = table(DISTANCES, n_rows, cfg.d_model)
        weights[f"attn.disentangled.{ours}"] = joined(rows, W, b, *norms, by=project)
    return weights


KEYS = Keys(
    (
        *(*bert.READ, "relative_attention", "max_relative_positions", "position_biased_input", "pos_att_type"),
        *("position_buckets", "share_att_key", "embedding_size", "conv_kernel_size", "conv_groups", "conv_act"),
    ),
    {
        "norm_rel_ebd": ("none", "layer_norm"),
        "legacy": (True,),
        "attention_head_size": (None,),
    },
)
FAMILY = Architecture(
    "deberta-v2",
    settings,
    weight_map,
    KEYS,
    prefix="deberta.",
    embedding=bert.EMBEDDING,
    ignored=rf"embeddings\.position_(ids|embeddings.*)|pooler\..*|cls\.predictions\.(decoder\.)?bias|mask_predictions\..*"
    rf"|encoder\.rel_embeddings\..*|{NORM}\..*",
    unembed="cls.predictions.decoder.weight",
    twins=(("cls.predictions.bias", "cls.predictions.decoder.bias"),),
).family
