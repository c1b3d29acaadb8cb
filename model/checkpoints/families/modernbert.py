"""ModernBERT folders: rotary positions, windows to both sides in most layers, gated MLPs, norms before and no biases.

Source: transformers' ModernBertConfig and modeling_modernbert.
"""

from typing import Any

from headlight.model.checkpoints import rope
from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import heads, sizes
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.families.qwen2 import windows
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, fused, linear, table, vector
from headlight.model.nn.config import TransformerConfig

EMBEDDING, UNEMBED = "embeddings.tok_embeddings.weight", "decoder"


def settings(config: Any) -> dict[str, Any]:
    """Translate ModernBERT's config to the fields of `TransformerConfig`."""
    return (
        sizes(config)
        | rope.rotary(config, config.rope_parameters["full_attention"])
        | rope.local(config)
        | windows(config)
        | {
            "window_size": config.local_attention if "sliding_attention" in config.layer_types else None,
            "d_mlp": config.intermediate_size,
            "act_fn": activation(config.hidden_activation),
            "gated_mlp": True,
            "eps": config.norm_eps,
            "attention_dir": "bidirectional",
            "post_embedding_ln": True,
            "no_ln1_layers": (0,),
            "mlm_act_fn": activation(config.classifier_activation),
            "output_bias": config.decoder_bias,
        }
    )


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map ModernBERT's checkpoint tensors to parameter names."""
    weights = {
        "embed.W_E": table(EMBEDDING, cfg.d_vocab, cfg.d_model),
        "mlm_head.W": linear("head.dense.weight", cfg.d_model, cfg.d_model),
    }
    norms = {"embed.ln": "embeddings.norm", "ln_final": "final_norm", "mlm_head.ln": "head.norm"}
    for ours, theirs in norms.items():
        weights |= _norm(ours, theirs, config)
    if config.classifier_bias:
        weights["mlm_head.b"] = vector("head.dense.bias", cfg.d_model)
    if not cfg.tie_word_embeddings:
        weights["unembed.W_U"] = linear(f"{UNEMBED}.weight", cfg.d_model, cfg.d_vocab)
    if config.decoder_bias:
        weights["unembed.b_U"] = vector(f"{UNEMBED}.bias", cfg.d_vocab)
    weights |= layers(cfg, lambda at: _layer(cfg, config, at))
    return {name: weight for name, weight in weights.items() if not name.startswith("blocks.0.ln1.")}


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    """Map a layer: queries, keys and values are one tensor, and so are the MLP's gate and its linear part."""
    bias = config.attention_bias
    attention = heads(cfg, f"{at}attn.", "Wo", bias, bias, read=["Wqkv"] * 3)
    weights = fused(attention | llama.gated_mlp(cfg, config, at, ("Wi", "Wi", "Wo")))
    return weights | _norm("ln1", f"{at}attn_norm", config) | _norm("ln2", f"{at}mlp_norm", config)


def _norm(ours: str, theirs: str, config: Any) -> WeightMap:
    weights: dict[str, WeightView] = {f"{ours}.w": vector(f"{theirs}.weight", config.hidden_size)}
    return weights | {f"{ours}.b": vector(f"{theirs}.bias", config.hidden_size)} if config.norm_bias else weights


KEYS = Keys(
    (
        *(*rope.READ, "global_rope_theta", "local_rope_theta", "global_attn_every_n_layers", "layer_types"),
        *("local_attention", "sliding_window", "intermediate_size", "hidden_activation", "norm_eps", "norm_bias"),
        *("attention_bias", "mlp_bias", "classifier_activation", "classifier_bias", "decoder_bias"),
    ),
    {},
)
FAMILY = Architecture("modernbert", settings, weight_map, KEYS, embedding=EMBEDDING, unembed=f"{UNEMBED}.weight").family
