"""BART folders: a norm behind each sum, that of the embeddings included, learned positions and a bias on the logits.

Source: transformers' BartConfig and modeling_bart.
"""

from typing import Any

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import UNEMBED, activation
from headlight.model.checkpoints.decoder import heads, mlp, norm
from headlight.model.checkpoints.encoder_decoder import SHARED, EncoderDecoder
from headlight.model.checkpoints.keys import ENCODER_DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, linear, table
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

FIRST = 2  # the row of the first position
SIDES = ("encoder", "decoder")
ENCODER_PARTS = {"attn": "self_attn"}
DECODER_PARTS = {"attn": "self_attn", "cross_attn": "encoder_attn"}


def settings(config: Any) -> dict[str, Any]:
    """Translate BART's config to the fields of `Seq2SeqConfig`."""
    _require_equal(config, "attention_heads")
    _require_equal(config, "ffn_dim")
    return {
        "n_encoder_layers": config.encoder_layers,
        "n_decoder_layers": config.decoder_layers,
        "d_model": config.d_model,
        "n_ctx": config.max_position_embeddings,
        "n_heads": config.encoder_attention_heads,
        "d_head": config.d_model // config.encoder_attention_heads,
        "d_vocab": config.vocab_size,
        "d_mlp": config.encoder_ffn_dim,
        "start_token": config.decoder_start_token_id,
        "end_token": config.eos_token_id,
        "source_end_token": config.eos_token_id,
        "act_fn": activation(config.activation_function),
        "norm_first": False,
        "embeddings_ln": True,
        "positions": "learned",
        "scale_embed": bool(config.scale_embedding),
        "output_bias": True,
    }


def _require_equal(config: Any, size: str) -> None:
    encoder, decoder = getattr(config, f"encoder_{size}"), getattr(config, f"decoder_{size}")
    if encoder != decoder:
        raise ConfigError(
            f"config.json sets encoder_{size} to {encoder!r} and decoder_{size} to {decoder!r}; they have to be equal."
        )


def weight_map(cfg: Seq2SeqConfig, config: Any) -> WeightMap:
    """Map BART's checkpoint tensors to parameter names."""
    positions = {side: f"{side}.embed_positions.weight" for side in SIDES}
    return without_positions(cfg) | {
        f"{side}.pos_embed.W_pos": table(name, cfg.n_ctx, cfg.d_model, FIRST) for side, name in positions.items()
    }


def without_positions(cfg: Seq2SeqConfig) -> WeightMap:
    """The embedding that source and target share, the layers, norms around them and the unembedding."""
    weights = {"decoder.embed.W_E": table(SHARED, cfg.d_vocab, cfg.d_model), **_blocks(cfg)}
    if cfg.shared_embeddings != "all":
        weights["unembed.W_U"] = linear(UNEMBED, cfg.d_model, cfg.d_vocab)
    if cfg.output_bias:
        weights["unembed.b_U"] = WeightView("final_logits_bias", (1, cfg.d_vocab), lambda tensor: tensor[0])
    for side in SIDES:
        weights |= norm(f"{side}.embed_ln", f"{side}.layernorm_embedding", cfg.d_model) if cfg.embeddings_ln else {}
        weights |= norm(f"{side}.ln_final", f"{side}.layer_norm", cfg.d_model) if cfg.final_norm else {}
    return weights


def _blocks(cfg: Seq2SeqConfig) -> WeightMap:
    """The layers of encoder and decoder."""
    sides = (("encoder", cfg.n_encoder_layers, ENCODER_PARTS), ("decoder", cfg.n_decoder_layers, DECODER_PARTS))
    return {
        f"{side}.blocks.{layer}.{name}": weight
        for side, n_layers, parts in sides
        for layer in range(n_layers)
        for name, weight in _layer(cfg, f"{side}.layers.{layer}.", parts).items()
    }


def _layer(cfg: Seq2SeqConfig, at: str, parts: dict[str, str]) -> WeightMap:
    """A layer's attentions, by our names and theirs, each with its norm, and behind them its MLP."""
    weights = mlp(cfg.decoder, f"{at}fc1", f"{at}fc2")
    for place, (ours, theirs) in enumerate(parts.items()):
        read = heads(cfg.decoder, f"{at}{theirs}.", "out_proj")
        weights |= {name.replace("attn.", f"{ours}."): weight for name, weight in read.items()}
        weights |= norm(f"ln{place + 1}", f"{at}{theirs}_layer_norm", cfg.d_model)
    return weights | norm(f"ln{len(parts) + 1}", f"{at}final_layer_norm", cfg.d_model)


READ = (
    *("vocab_size", "max_position_embeddings", "d_model", "encoder_layers", "decoder_layers"),
    *("encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim"),
    *("activation_function", "scale_embedding", "tie_word_embeddings", "decoder_start_token_id", "eos_token_id"),
)
FAMILY = EncoderDecoder("bart", settings, weight_map, Keys(READ, ENCODER_DECODER), prefix="model.").family
