"""T5 folders, also version 1.1 and Flan: RMSNorm before each part, positions as a bias of scores, no biases else.

Source: transformers' T5Config and modeling_t5.
"""

from typing import Any

from headlight.model.checkpoints.architecture import UNEMBED, activation
from headlight.model.checkpoints.decoder import heads
from headlight.model.checkpoints.encoder_decoder import SHARED, EncoderDecoder
from headlight.model.checkpoints.keys import ENCODER_DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, linear, table, vector
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

N_CTX = 512  # tokens, where no config says more: the positions know no end


def settings(config: Any) -> dict[str, Any]:
    """Translate T5's config to the fields of `Seq2SeqConfig`."""
    return {
        "n_encoder_layers": config.num_layers,
        "n_decoder_layers": config.num_decoder_layers,
        "d_model": config.d_model,
        "n_ctx": config.n_positions or N_CTX,
        "n_heads": config.num_heads,
        "d_head": config.d_kv,
        "d_vocab": config.vocab_size,
        "d_mlp": config.d_ff,
        "start_token": _start_token(config),
        "end_token": config.eos_token_id,
        "source_end_token": config.eos_token_id,
        "act_fn": activation(config.dense_act_fn),
        "gated_mlp": config.is_gated_act,
        "normalization_type": "RMS",
        "eps": config.layer_norm_epsilon,
        "norm_first": True,
        "positions": "relative",
        "relative_attention_num_buckets": config.relative_attention_num_buckets,
        "relative_attention_max_distance": config.relative_attention_max_distance,
        "scale_embed": False,
        "attn_scale": 1.0,
        "logits_scale": config.d_model**-0.5 if config.scale_decoder_outputs else 1.0,
    }


def _start_token(config: Any) -> object:
    """The token that a target begins with: the padding's, as in all of T5's own, where the config tells none."""
    return config.pad_token_id if config.decoder_start_token_id is None else config.decoder_start_token_id


def weight_map(cfg: Seq2SeqConfig, config: Any) -> WeightMap:
    """Map T5's checkpoint tensors to parameter names."""
    weights = {"decoder.embed.W_E": table(SHARED, cfg.d_vocab, cfg.d_model)}
    if cfg.shared_embeddings != "all":
        weights["unembed.W_U"] = linear(UNEMBED, cfg.d_model, cfg.d_vocab)
    for side, n_layers, parts in (
        ("encoder", cfg.n_encoder_layers, {"attn": "SelfAttention"}),
        ("decoder", cfg.n_decoder_layers, {"attn": "SelfAttention", "cross_attn": "EncDecAttention"}),
    ):
        for layer in range(n_layers if cfg.rel_pos_bias_per_layer else 1):
            bias = f"{side}.block.{layer}.layer.0.SelfAttention.relative_attention_bias.weight"
            weights[f"{side}.blocks.{layer}.attn.rel_pos_bias.weight"] = table(
                bias, cfg.relative_attention_num_buckets, cfg.n_heads
            )
        weights[f"{side}.ln_final.w"] = vector(f"{side}.final_layer_norm.weight", cfg.d_model)
        for layer in range(n_layers):
            of_layer = _layer(cfg, f"{side}.block.{layer}.layer.", parts)
            weights |= {f"{side}.blocks.{layer}.{name}": weight for name, weight in of_layer.items()}
    return weights


def _layer(cfg: Seq2SeqConfig, at: str, parts: dict[str, str]) -> WeightMap:
    """A layer's attentions, by our names and theirs, and behind them its MLP."""
    weights = _mlp(cfg, f"{at}{len(parts)}.DenseReluDense.")
    for place, (ours, theirs) in enumerate(parts.items()):
        read = heads(cfg.decoder, f"{at}{place}.{theirs}.", "o", False, False, read="qkv")
        weights |= {name.replace("attn.", f"{ours}."): weight for name, weight in read.items()}
    for place in range(len(parts) + 1):
        weights[f"ln{place + 1}.w"] = vector(f"{at}{place}.layer_norm.weight", cfg.d_model)
    return weights


def _mlp(cfg: Seq2SeqConfig, at: str) -> WeightMap:
    d_mlp = cfg.decoder.d_mlp or 0
    into = {"mlp.W_gate": "wi_0", "mlp.W_in": "wi_1"} if cfg.gated_mlp else {"mlp.W_in": "wi"}
    weights = {ours: linear(f"{at}{theirs}.weight", cfg.d_model, d_mlp) for ours, theirs in into.items()}
    return weights | {"mlp.W_out": linear(f"{at}wo.weight", d_mlp, cfg.d_model)}


KEYS = Keys(
    (
        *("vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_decoder_layers", "num_heads", "n_positions"),
        *("relative_attention_num_buckets", "relative_attention_max_distance", "layer_norm_epsilon"),
        *("feed_forward_proj", "dense_act_fn", "is_gated_act", "tie_word_embeddings", "scale_decoder_outputs"),
        *("decoder_start_token_id", "pad_token_id", "eos_token_id"),
    ),
    ENCODER_DECODER,
)
# Cross-attention has no positions; old files hold a bias for it that nothing reads.
ARCHITECTURE = EncoderDecoder(
    "t5", settings, weight_map, KEYS, ignored=r".*EncDecAttention\.relative_attention_bias\.weight"
)
FAMILY = ARCHITECTURE.family
