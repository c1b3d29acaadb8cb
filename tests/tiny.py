"""A tiny random model for each kind of architecture, by what tells it from GPT-2, with the embedded tokenizer."""

import shutil
from pathlib import Path
from typing import Any

import torch

from headlight.model import Transformer, TransformerConfig, load
from headlight.model.checkpoints.families.headlight import save_transformer
from tests.places import MINI

# Odd sizes, with n_heads * d_head != d_model, tell every axis from every other.
SIZES: dict[str, Any] = {
    "n_layers": 3,
    "d_model": 20,
    "n_ctx": 64,
    "n_heads": 4,
    "d_head": 6,
    "d_vocab": 4096,
    "d_mlp": 22,
}
ROTARY: dict[str, Any] = {"positional_embedding_type": "rotary", "normalization_type": "RMS", "gated_mlp": True}
ENCODER: dict[str, Any] = {
    "attention_dir": "bidirectional",
    "act_fn": "gelu",
    "embeddings_ln": True,
    "mlm_act_fn": "gelu",
    "tie_word_embeddings": True,
}
KINDS: dict[str, dict[str, Any]] = {
    "gpt2-like": {},
    "llama-like": ROTARY | {"n_key_value_heads": 2, "act_fn": "silu"},
    "gemma2-like": ROTARY
    | {
        "n_key_value_heads": 2,
        "use_normalization_before_and_after": True,
        "attn_scores_soft_cap": 2.0,
        "output_logits_soft_cap": 3.0,
        "window_size": 3,
        "attn_types": ("local", "global", "local"),
        "embedding_scale": 4.5,
        "tie_word_embeddings": True,
    },
    "neox-like": {
        "positional_embedding_type": "rotary",
        "rotary_dim": 4,
        "parallel_attn_mlp": True,
        "parallel_norms": 2,
        "act_fn": "gelu",
        "use_qk_norm": True,
        "qk_norm_per_head": True,
    },
    "bloom-like": {"positional_embedding_type": "alibi", "post_embedding_ln": True, "tie_word_embeddings": True},
    "gpt_oss-like": ROTARY
    | {
        "n_key_value_heads": 2,
        "use_attention_sinks": True,
        "clip_qkv": 1.5,
        "num_experts": 4,
        "experts_per_token": 2,
        "norm_topk_prob": True,
        "mlp_limit": 7.0,
        "dense_layers": (1,),
        "window_size": 4,
        "attn_types": ("local", "global", "local"),
    },
    "olmo2-like": ROTARY
    | {
        "n_key_value_heads": 2,
        "use_normalization_before_and_after": True,
        "normalize_before": False,
        "use_qk_norm": True,
        "qk_norm_across_heads": True,
    },
    "qwen3-like": ROTARY | {"n_key_value_heads": 2, "use_qk_norm": True},
    "qwen2_moe-like": ROTARY
    | {
        "n_key_value_heads": 2,
        "num_experts": 4,
        "experts_per_token": 2,
        "d_mlp_shared": 9,
        "query_growth": 0.3,
        "query_growth_n_ctx": 2,
    },
    "hunyuan-like": ROTARY
    | {
        "n_key_value_heads": 2,
        "gated_mlp": False,
        "act_fn": "xielu",
        "use_qk_norm": True,
        "qk_norm_after_rotary": True,
        "rotary_clockwise": True,
    },
    "granite-like": ROTARY
    | {
        "n_key_value_heads": 2,
        "embedding_scale": 3.0,
        "residual_scale": 0.6,
        "logits_scale": 0.3,
        "attn_scale": 3.0,
    },
    "gpt1-like": {"post_norm": True, "tie_word_embeddings": True},
    "bert-like": ENCODER | {"post_norm": True, "n_token_types": 2, "d_embed": 12, "output_bias": True},
    "deberta-like": ENCODER
    | {
        "post_norm": True,
        "positional_embedding_type": "none",
        "disentangled_attention": ("c2p", "p2c"),
        "position_buckets": 4,
        "relative_attention_max_distance": 9,
        "conv_kernel_size": 3,
    },
    "modernbert-like": ENCODER
    | {
        "positional_embedding_type": "rotary",
        "gated_mlp": True,
        "no_ln1_layers": (0,),
        "window_size": 4,
        "attn_types": ("local", "global", "local"),
    },
    "llama in halves": ROTARY | {"n_key_value_heads": 2, "act_fn": "silu", "tie_word_embeddings": True},
    "neo-like": {"window_size": 3, "attn_types": ("global", "local", "global"), "attn_scale": 1.0},
}

# Whose architecture each kind has, in what matters to the pages.
FAMILIES: dict[str, str] = {
    "gpt2-like": "gpt2, gpt_bigcode, opt, biogpt, xglm",
    "llama-like": "llama, mistral, qwen2, phi3, gemma, olmo, seed_oss, smollm3, starcoder2, "
    "glm, ministral3, arcee, ernie4_5, nemotron, qwen2_5_vl",
    "gemma2-like": "gemma2, gemma3, glm4, vaultgemma",
    "neox-like": "gpt_neox, gptj, phi, stablelm, cohere, cohere2, codegen",
    "bloom-like": "bloom, falcon, mpt",
    "gpt_oss-like": "gpt_oss, mixtral, qwen3_moe, olmoe, granitemoe",
    "olmo2-like": "olmo2, olmo3, exaone4",
    "qwen3-like": "qwen3, qwen3_vl",
    "qwen2_moe-like": "qwen2_moe",
    "hunyuan-like": "hunyuan_v1_dense, nanochat, apertus",
    "granite-like": "granite",
    "gpt1-like": "openai_gpt",
    "bert-like": "bert, roberta, distilbert, electra, xlm_roberta, camembert, albert, mpnet, deberta_v2",
    "modernbert-like": "modernbert, esm, t5_encoder",
    "neo-like": "gpt_neo",
}


def tiny(kind: str, seed: int = 0) -> Transformer:
    """A model in which no parameter is left at zero or one, so that each of them matters."""
    model = Transformer(TransformerConfig(**(SIZES | KINDS[kind])))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_gain = name.endswith(".w")
            parameter.copy_(is_gain + 0.4 * torch.randn(parameter.shape, generator=generator))
    return model


def save_tiny(kind: str, folder: Path) -> None:
    """Save one with the embedded model's tokenizer, its matrices in bfloat16 if it is one in halves."""
    model = tiny(kind)
    save_transformer(model.bfloat16() if kind.endswith("in halves") else model, folder)
    for file in MINI.glob("tokenizer*.json"):
        shutil.copy(file, folder)


def open_tiny(kind: str, folder: Path) -> Transformer:
    """One as the page opens it."""
    save_tiny(kind, folder)
    return load(str(folder))
