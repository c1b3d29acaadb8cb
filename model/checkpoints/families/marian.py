"""Marian folders, the translation models of OPUS-MT: BART's layers, sinusoidal positions, embeddings without a norm.

Marian is the paper's arithmetic: post-LayerNorm without final norms, one embedding for source, target and output, and a
bias on the logits.

Source: transformers' MarianConfig and modeling_marian for the names and the order of sines and cosines.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.encoder_decoder import SHARED, EncoderDecoder
from headlight.model.checkpoints.families import bart
from headlight.model.checkpoints.keys import ENCODER_DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, table
from headlight.model.nn.seq2seq_config import Seq2SeqConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Marian's config to the fields of `Seq2SeqConfig`; positions are kept as if they were learned."""
    if config.d_model % 2:
        raise ConfigError(f"config.json sets d_model to {config.d_model!r}; it has to be even.")
    return bart.settings(config) | {"embeddings_ln": False}


def weight_map(cfg: Seq2SeqConfig, config: Any) -> WeightMap:
    """Map Marian's checkpoint tensors to parameter names."""
    return bart.without_positions(cfg) | computed_positions(cfg, lambda: sinusoids(cfg.n_ctx, cfg.d_model))


def computed_positions(cfg: Seq2SeqConfig, compute: Callable[[], Float[Tensor, "pos d_model"]]) -> WeightMap:
    """Positions that no tensor holds."""
    positions = table(SHARED, cfg.d_vocab, cfg.d_model).then(lambda _: compute())
    return {f"{side}.pos_embed.W_pos": positions for side in bart.SIDES}


def sinusoids(n_ctx: int, d_model: int) -> Float[Tensor, "pos d_model"]:
    """Marian's positions: all the sines, then all the cosines, where the paper has them in turn."""
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.arange(n_ctx, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()


KEYS = Keys((*bart.READ, "decoder_vocab_size"), ENCODER_DECODER | {"share_encoder_decoder_embeddings": (True,)})
POSITIONS = r"(encoder|decoder)\.embed_positions\.weights?"  # copies of what is computed
FAMILY = EncoderDecoder("marian", settings, weight_map, KEYS, prefix="model.", ignored=POSITIONS).family
