"""M2M-100 and NLLB folders: Pegasus's layers, positions counted from behind the padding's id, logits without a bias.

Source: transformers' M2M100Config and modeling_m2m_100.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.checkpoints.encoder_decoder import EncoderDecoder
from headlight.model.checkpoints.families import bart, marian, pegasus
from headlight.model.checkpoints.keys import ENCODER_DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.seq2seq_config import Seq2SeqConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate M2M-100's config to the fields of `Seq2SeqConfig`."""
    return pegasus.settings(config) | {"output_bias": False}


def weight_map(cfg: Seq2SeqConfig, config: Any) -> WeightMap:
    """Map M2M-100's checkpoint tensors to parameter names."""
    first = int(config.pad_token_id) + 1
    positions = marian.computed_positions(cfg, lambda: sinusoids(first + cfg.n_ctx, cfg.d_model)[first:])
    return bart.without_positions(cfg) | positions


def sinusoids(n_ctx: int, d_model: int) -> Float[Tensor, "pos d_model"]:
    """Sines, then cosines, of frequencies down to 1/10000 itself, rounded as transformers rounds them."""
    half = d_model // 2
    frequencies = torch.exp(torch.arange(half).float() * -(math.log(10000) / (half - 1)))
    angles = torch.arange(n_ctx).float()[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


KEYS = Keys((*bart.READ, "pad_token_id"), ENCODER_DECODER)
FAMILY = EncoderDecoder("m2m_100", settings, weight_map, KEYS, prefix="model.", ignored=marian.POSITIONS).family
