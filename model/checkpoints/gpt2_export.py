"""Write a model as a Hugging Face GPT-2 folder."""

import json
from pathlib import Path

from headlight.model.checkpoints.architecture import save_folder
from headlight.model.checkpoints.families.gpt2 import PREFIX, require, require_gpt2, weight_map
from headlight.model.nn.transformer import Transformer


def save_gpt2(model: Transformer, folder: str | Path) -> None:
    """Write a folder that transformers' `GPT2LMHeadModel.from_pretrained` opens; without the tokenizer.

    Args:
        model: a model with GPT-2's architecture.
        folder: is created if needed; config.json and model.safetensors are written atomically.

    Raises:
        ConfigError: a setting that transformers' GPT-2 lacks; the message names it.
    """
    require_gpt2(model.cfg)
    require("attention_dir", model.cfg.attention_dir, "causal")
    require("attn_scale", model.cfg.attn_scale, model.cfg.d_head**0.5, 1.0)
    require("an unembedding bias", bool(model.unembed.b_U.any()), False)
    config = json.dumps(_gpt2_config(model), indent=2) + "\n"
    save_folder(Path(folder), PREFIX, weight_map(model.cfg), model, config)


def _gpt2_config(model: Transformer) -> dict[str, object]:
    cfg = model.cfg
    bos = model.tokenizer.bos_token_id if model.tokenizer else None
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "dtype": "float32",
        "vocab_size": cfg.d_vocab,
        "n_positions": cfg.n_ctx,
        "n_embd": cfg.d_model,
        "n_layer": cfg.n_layers,
        "n_head": cfg.n_heads,
        "n_inner": cfg.d_mlp,
        "activation_function": cfg.act_fn,
        "layer_norm_epsilon": cfg.eps,
        "scale_attn_weights": cfg.attn_scale != 1.0,
        "scale_attn_by_inverse_layer_idx": cfg.scale_attn_by_inverse_layer_idx,
        "tie_word_embeddings": cfg.tie_word_embeddings,
        "bos_token_id": bos,
        "eos_token_id": bos,
    }
