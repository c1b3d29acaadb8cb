"""Hugging Face Marian folders, the translation models of OPUS-MT: their weights, not their tokenizer.

Marian is the paper's arithmetic: post-LayerNorm without final norms, sinusoidal positions, one embedding for source,
target and output, scaled by sqrt(d_model), and a bias on the logits. BART and T5 are not: BART normalises the
embedding, T5 has relative positions and no centring in its norms.

Source: transformers' MarianConfig and modeling_marian for the names, the defaults and the order of sines and cosines.
"""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.errors import ConfigError
from headlight.model.families.family import Checkpoint, Family, Opening
from headlight.model.families.gpt2 import ACTIVATIONS
from headlight.model.families.tensors import check_depth, model_type, read_folder, taken, weight_files
from headlight.model.files import read_json
from headlight.model.seq2seq_config import Seq2SeqConfig

DEFAULTS: dict[str, object] = {
    "vocab_size": 58101,
    "max_position_embeddings": 1024,
    "d_model": 1024,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "activation_function": "gelu",
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "decoder_start_token_id": 58100,
    "eos_token_id": 0,
}
NEUTRAL: dict[str, object] = {"share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}
IGNORED = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")  # computed, not learned
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
ENCODER_PARTS = {"attn": "self_attn", "ln1": "self_attn_layer_norm", "ln2": "final_layer_norm"}
DECODER_PARTS = {
    "attn": "self_attn",
    "ln1": "self_attn_layer_norm",
    "cross_attn": "encoder_attn",
    "ln2": "encoder_attn_layer_norm",
    "ln3": "final_layer_norm",
}


def recognises(path: Path) -> bool:
    """Whether a path is a folder whose config.json says that it is a Marian."""
    return model_type(path) == "marian"


def read(folder: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[Seq2SeqConfig]:
    """A Marian folder's config and parameters, the matrices views of its files.

    Raises:
        CheckpointError: damaged files, or tensors that are not those that config.json asks for.
        ConfigError: settings in config.json that are not supported.
    """
    cfg = Seq2SeqConfig(**(_translated(DEFAULTS | read_json(folder / "config.json")) | settings))
    raw = {name: tensor for name, tensor in read_folder(folder).items() if name not in (*IGNORED, *COPIES)}
    check_depth(raw, cfg.n_encoder_layers, cfg.n_decoder_layers)
    return Checkpoint(cfg, _views(cfg, taken(raw, _shapes(cfg), how)), weight_files(folder))


FAMILY = Family("a Hugging Face Marian folder (config.json and safetensors)", recognises, read)


def _translated(hf_config: dict[str, Any]) -> dict[str, Any]:
    """config.json's settings under the names of `Seq2SeqConfig`; positions are kept as if they were learned."""
    for name, neutral in NEUTRAL.items():
        if hf_config[name] != neutral:
            raise ConfigError(f"config.json sets {name} to {hf_config[name]!r}; only {neutral!r} is supported.")
    for size in ("attention_heads", "ffn_dim"):
        ours, theirs = hf_config[f"encoder_{size}"], hf_config[f"decoder_{size}"]
        if ours != theirs:
            raise ConfigError(
                f"config.json sets encoder_{size} to {ours!r} and decoder_{size} to {theirs!r}; they have to be equal."
            )
    d_model, n_heads = hf_config["d_model"], hf_config["encoder_attention_heads"]
    if not isinstance(d_model, int) or not isinstance(n_heads, int) or n_heads < 1 or d_model % n_heads or d_model % 2:
        raise ConfigError(
            f"config.json sets d_model to {d_model!r} and the heads to {n_heads!r}; d_model must be even, and heads "
            "must divide it."
        )
    if str(hf_config["activation_function"]) not in ACTIVATIONS:
        raise ConfigError(
            f"config.json sets activation_function to {hf_config['activation_function']!r}; supported are "
            f"{', '.join(ACTIVATIONS)}."
        )
    return {
        "n_encoder_layers": hf_config["encoder_layers"],
        "n_decoder_layers": hf_config["decoder_layers"],
        "d_model": d_model,
        "n_ctx": hf_config["max_position_embeddings"],
        "n_heads": n_heads,
        "d_head": d_model // n_heads,
        "d_vocab": hf_config["vocab_size"],
        "d_mlp": hf_config["encoder_ffn_dim"],
        "start_token": hf_config["decoder_start_token_id"],
        "end_token": hf_config["eos_token_id"],
        "source_end_token": hf_config["eos_token_id"],
        "act_fn": ACTIVATIONS[hf_config["activation_function"]],
        "norm_first": False,
        "positions": "learned",
        "scale_embed": bool(hf_config["scale_embedding"]),
        "shared_embeddings": "all",
        "output_bias": True,
    }


def _shapes(cfg: Seq2SeqConfig) -> dict[str, tuple[int, ...]]:
    """The name and shape of every tensor that a Marian folder has to hold."""
    d_model, d_mlp = cfg.d_model, cfg.decoder.d_mlp or 0
    shapes: dict[str, tuple[int, ...]] = {
        "model.shared.weight": (cfg.d_vocab, d_model),
        "final_logits_bias": (1, cfg.d_vocab),
    }
    for side, n_layers, parts in _stacks(cfg):
        for layer in range(n_layers):
            prefix = f"model.{side}.layers.{layer}."
            for part in parts.values():
                if part.endswith("layer_norm"):
                    shapes |= {f"{prefix}{part}.weight": (d_model,), f"{prefix}{part}.bias": (d_model,)}
                else:
                    for matrix in ("q_proj", "k_proj", "v_proj", "out_proj"):
                        shapes[f"{prefix}{part}.{matrix}.weight"] = (d_model, d_model)
                        shapes[f"{prefix}{part}.{matrix}.bias"] = (d_model,)
            shapes |= {f"{prefix}fc1.weight": (d_mlp, d_model), f"{prefix}fc1.bias": (d_mlp,)}
            shapes |= {f"{prefix}fc2.weight": (d_model, d_mlp), f"{prefix}fc2.bias": (d_model,)}
    return shapes


def _stacks(cfg: Seq2SeqConfig) -> tuple[tuple[str, int, dict[str, str]], ...]:
    return (("encoder", cfg.n_encoder_layers, ENCODER_PARTS), ("decoder", cfg.n_decoder_layers, DECODER_PARTS))


def _views(cfg: Seq2SeqConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The parameters under our names."""
    positions = sinusoids(cfg.n_ctx, cfg.d_model)
    state = {
        "decoder.embed.W_E": tensors["model.shared.weight"],
        "encoder.pos_embed.W_pos": positions,
        "decoder.pos_embed.W_pos": positions,
        "unembed.b_U": tensors["final_logits_bias"][0],
    }
    for side, n_layers, parts in _stacks(cfg):
        for layer in range(n_layers):
            ours, theirs = f"{side}.blocks.{layer}.", f"model.{side}.layers.{layer}."
            for our_part, their_part in parts.items():
                read_part = _norm if their_part.endswith("layer_norm") else _attention
                part = read_part(cfg, tensors, f"{theirs}{their_part}.")
                state |= {f"{ours}{our_part}.{name}": tensor for name, tensor in part.items()}
            state |= {
                f"{ours}mlp.W_in": tensors[f"{theirs}fc1.weight"].T,
                f"{ours}mlp.b_in": tensors[f"{theirs}fc1.bias"],
                f"{ours}mlp.W_out": tensors[f"{theirs}fc2.weight"].T,
                f"{ours}mlp.b_out": tensors[f"{theirs}fc2.bias"],
            }
    return state


def _norm(cfg: Seq2SeqConfig, tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {"w": tensors[prefix + "weight"], "b": tensors[prefix + "bias"]}


def _attention(cfg: Seq2SeqConfig, tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """torch's Linear keeps [out, in]: a head's rows of it, transposed, are its W_Q [d_model, d_head]."""
    heads = (cfg.n_heads, cfg.d_head)
    state: dict[str, Tensor] = {}
    for letter in "QKV":
        projection = f"{prefix}{letter.lower()}_proj."
        state[f"W_{letter}"] = tensors[projection + "weight"].unflatten(0, heads).transpose(1, 2)
        state[f"b_{letter}"] = tensors[projection + "bias"].unflatten(0, heads)
    state["W_O"] = tensors[prefix + "out_proj.weight"].T.unflatten(0, heads)
    state["b_O"] = tensors[prefix + "out_proj.bias"]
    return state


def sinusoids(n_ctx: int, d_model: int) -> Float[Tensor, "pos d_model"]:
    """Marian's positions: all the sines, then all the cosines, where the paper has them in turn."""
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.arange(n_ctx, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()
