"""Tiny models of every kind of attention, with noise on every parameter."""

from dataclasses import replace
from typing import TypeVar

import torch

from headlight.model import Transformer
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooked import HookedModel
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

Model = TypeVar("Model", bound=HookedModel)

GPT2 = TransformerConfig(n_layers=2, d_model=24, n_ctx=32, n_heads=6, d_head=5, d_vocab=50, tie_word_embeddings=True)
LLAMA = replace(
    GPT2,
    n_key_value_heads=2,
    d_head=8,
    attn_scale=None,
    d_value=None,
    normalization_type="RMS",
    positional_embedding_type="rotary",
    gated_mlp=True,
    act_fn="silu",
    tie_word_embeddings=False,
)
KINDS = {
    "GPT-2": GPT2,
    "Llama": LLAMA,
    "Gemma 2": replace(
        LLAMA,
        window_size=5,
        attn_types=("local", "global"),
        attn_scores_soft_cap=3.0,
        use_normalization_before_and_after=True,
    ),
    "Qwen3": replace(LLAMA, use_qk_norm=True),
    "OLMo 2": replace(LLAMA, use_qk_norm=True, qk_norm_across_heads=True),
    "StableLM": replace(LLAMA, normalization_type="LN", use_qk_norm=True, qk_norm_per_head=True),
    "GPT-OSS": replace(LLAMA, use_attention_sinks=True),
    "BLOOM": replace(GPT2, positional_embedding_type="alibi"),
    "MPT, clipped": replace(GPT2, positional_embedding_type="alibi", clip_qkv=0.5),
    "of T5's positions": replace(GPT2, positional_embedding_type="relative_positional_bias"),
}
T5 = Seq2SeqConfig(
    n_encoder_layers=2,
    n_decoder_layers=2,
    d_model=24,
    n_ctx=32,
    n_heads=6,
    d_head=5,
    d_vocab=50,
    start_token=0,
    end_token=1,
    positions="relative",
)


def decoder(cfg: TransformerConfig) -> Transformer:
    """A decoder-only model."""
    return _noisy(Transformer(cfg))


def encoder_decoder() -> Seq2SeqTransformer:
    """A model with attention to an encoder's output."""
    return _noisy(Seq2SeqTransformer(T5))


def _noisy(model: Model) -> Model:
    """A model whose gains are not 1 and whose biases are not 0, the same in every process."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.requires_grad_(False).parameters():
        parameter.copy_(
            parameter.round() + 0.3 * torch.randn(parameter.shape, generator=generator)
        )  # 1 of a gain stays
    return model.eval()
