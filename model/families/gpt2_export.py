"""Writing a model as a Hugging Face GPT-2 folder."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from headlight.model.families.gpt2 import LAYER_NAMES, NAMES, require, require_gpt2
from headlight.model.transformer import Transformer


def save_gpt2(model: Transformer, folder: str | Path) -> None:
    """Write config.json and model.safetensors, which transformers' `GPT2LMHeadModel.from_pretrained` opens.

    Each file appears whole or not at all. The tokenizer is not written.

    Raises:
        ConfigError: a setting that no GPT-2 of transformers has; the message names it.
    """
    require_gpt2(model.cfg)
    require("attention_dir", model.cfg.attention_dir, "causal")
    require("attn_scale", model.cfg.attn_scale, model.cfg.d_head**0.5, 1.0)
    require("an unembedding bias", bool(model.unembed.b_U.any()), False)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights, config = folder / "model.partial", folder / "config.partial"
    config.write_text(json.dumps(_gpt2_config(model), indent=2) + "\n", encoding="utf-8")
    save_file(_gpt2_state(model), weights, metadata={"format": "pt"})
    weights.chmod(config.stat().st_mode)  # save_file's own leaves it to nobody but the owner to read
    weights.replace(folder / "model.safetensors")
    config.replace(folder / "config.json")


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


def _gpt2_state(model: Transformer) -> dict[str, Tensor]:
    """The parameters under transformers' names, the heads' matrices side by side again."""
    ours = {name: tensor.detach().float() for name, tensor in model.state_dict().items()}
    state = {f"transformer.{theirs}": ours[name] for name, theirs in NAMES.items()}
    for layer in range(model.cfg.n_layers):
        block, other = f"blocks.{layer}.", f"transformer.h.{layer}."
        state |= {other + theirs: ours[block + name] for name, theirs in LAYER_NAMES.items()}
        fused = [ours[f"{block}attn.W_{letter}"].transpose(0, 1).flatten(1) for letter in "QKV"]
        state[other + "attn.c_attn.weight"] = torch.cat(fused, dim=-1)
        state[other + "attn.c_attn.bias"] = torch.cat([ours[f"{block}attn.b_{letter}"].flatten() for letter in "QKV"])
        state[other + "attn.c_proj.weight"] = ours[block + "attn.W_O"].flatten(0, 1)
    if not model.cfg.tie_word_embeddings:
        state["lm_head.weight"] = ours["unembed.W_U"].T
    return {name: tensor.contiguous() for name, tensor in state.items()}
