"""Hugging Face GPT-2 folders, config.json and safetensors, read as views.

The fused c_attn.weight [d_model, 3 d_model] has the columns of queries, keys and values side by side, each of these
head by head, so the per-head parameters are slices of it.

Source: transformers' GPT2Config and modeling_gpt2 for the names, the defaults and the order of the fused columns.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.config import TransformerConfig
from headlight.model.errors import CheckpointError, ConfigError
from headlight.model.families.family import Checkpoint, Family, Opening
from headlight.model.families.resemblance import likeness
from headlight.model.families.tensors import (
    check_depth,
    listed,
    model_type,
    read_config_file,
    read_folder,
    taken,
    weight_files,
)

DEFAULTS: dict[str, object] = {
    "vocab_size": 50257,
    "n_positions": 1024,
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_inner": None,
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "tie_word_embeddings": True,
}
NEUTRAL: dict[str, object] = {  # settings that would change the arithmetic, at the only value that is supported
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "quantization_config": None,
    "pruned_heads": {},
}
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",  # the same approximation under torch's name
    "silu": "silu",
    "swish": "silu",
}
# Parameters that are the files' tensors as they stand: of the whole model, and of each layer.
NAMES = {
    "embed.W_E": "wte.weight",
    "pos_embed.W_pos": "wpe.weight",
    "ln_final.w": "ln_f.weight",
    "ln_final.b": "ln_f.bias",
}
LAYER_NAMES = {
    "ln1.w": "ln_1.weight",
    "ln1.b": "ln_1.bias",
    "attn.b_O": "attn.c_proj.bias",
    "ln2.w": "ln_2.weight",
    "ln2.b": "ln_2.bias",
    "mlp.W_in": "mlp.c_fc.weight",
    "mlp.b_in": "mlp.c_fc.bias",
    "mlp.W_out": "mlp.c_proj.weight",
    "mlp.b_out": "mlp.c_proj.bias",
}
BUFFERS = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")  # causal masks that old versions stored


def recognises(path: Path) -> bool:
    """Whether a path is a folder whose config.json says that it is a GPT-2."""
    return model_type(path) == "gpt2"


def read(folder: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[TransformerConfig]:
    """A GPT-2 folder's config and parameters, the latter as views of its files.

    Raises:
        CheckpointError: damaged files, or tensors that are not those that config.json asks for.
        ConfigError: settings in config.json that are not supported.
    """
    hf_config = DEFAULTS | read_config_file(folder)
    tensors = _plain_names(read_folder(folder))
    cfg = TransformerConfig(**(_translated(hf_config) | {"tie_word_embeddings": _tied(hf_config, tensors)} | settings))
    require_gpt2(cfg)
    if cfg.tie_word_embeddings:
        tensors.pop("lm_head.weight", None)
    check_depth(tensors, cfg.n_layers)
    return Checkpoint(cfg, _views(cfg, taken(tensors, tensor_shapes(cfg), how)), weight_files(folder))


def _likeness(names: Iterable[str]) -> float:
    smallest = TransformerConfig(
        n_layers=1, d_model=1, n_ctx=1, n_heads=1, d_head=1, d_vocab=1, tie_word_embeddings=True
    )
    known = tensor_shapes(smallest)
    return likeness({name.removeprefix("transformer.") for name in names} - {"lm_head.weight"}, known)


FAMILY = Family("a Hugging Face GPT-2 folder (config.json and safetensors)", recognises, read, _likeness)


def require_gpt2(cfg: TransformerConfig) -> None:
    """Refuse a model whose parameters do not fit the tensors of a GPT-2 folder.

    Raises:
        ConfigError: a setting that no GPT-2 has; the message names it.
    """
    require("attn_only", cfg.attn_only, False)
    require("normalization_type", cfg.normalization_type, "LN")
    require("d_vocab_out", cfg.d_vocab_out, cfg.d_vocab)
    require("n_heads * d_head", cfg.n_heads * cfg.d_head, cfg.d_model)
    require("d_value", cfg.d_value, cfg.d_head)


def require(name: str, given: object, *allowed: object) -> None:
    """Refuse a setting that a GPT-2 folder cannot hold.

    Raises:
        ConfigError: it is none of the values allowed.
    """
    if given not in allowed:
        values = " or ".join(map(repr, allowed))
        raise ConfigError(f"A GPT-2 folder cannot hold {name} = {given!r}; it can be {values}.")


def _translated(hf_config: dict[str, Any]) -> dict[str, Any]:
    """config.json's settings under the names of `TransformerConfig`."""
    for name, neutral in NEUTRAL.items():
        if hf_config.get(name) not in (neutral, None):
            raise ConfigError(f"config.json sets {name} to {hf_config[name]!r}; only {neutral!r} is supported.")
    activation = hf_config["activation_function"]
    if str(activation) not in ACTIVATIONS:
        supported = ", ".join(ACTIVATIONS)
        raise ConfigError(f"config.json sets activation_function to {activation!r}; supported are {supported}.")
    return {
        "n_layers": hf_config["n_layer"],
        "d_model": hf_config["n_embd"],
        "n_ctx": hf_config["n_positions"],
        "n_heads": hf_config["n_head"],
        "d_head": _d_head(hf_config["n_embd"], hf_config["n_head"]),
        "d_vocab": hf_config["vocab_size"],
        "d_mlp": hf_config["n_inner"],
        "act_fn": ACTIVATIONS[activation],
        "eps": hf_config["layer_norm_epsilon"],
        "attn_scale": None if hf_config["scale_attn_weights"] else 1.0,  # None: the usual sqrt(d_head)
        "scale_attn_by_inverse_layer_idx": hf_config["scale_attn_by_inverse_layer_idx"],
    }


def _d_head(d_model: object, n_heads: object) -> int:
    if not isinstance(d_model, int) or not isinstance(n_heads, int) or n_heads < 1 or d_model % n_heads:
        raise ConfigError(
            f"config.json sets n_embd to {d_model!r} and n_head to {n_heads!r}; n_head must divide n_embd."
        )
    return d_model // n_heads


def _tied(hf_config: dict[str, Any], tensors: dict[str, Tensor]) -> object:
    """What config.json says, but not tied where the file holds two different matrices; transformers decides alike."""
    own, embedding = tensors.get("lm_head.weight"), tensors.get("wte.weight")
    if hf_config["tie_word_embeddings"] and own is not None and embedding is not None:
        return torch.equal(own, embedding)
    return hf_config["tie_word_embeddings"]


def _plain_names(raw: dict[str, Tensor]) -> dict[str, Tensor]:
    """The parameters without the prefix that GPT2LMHeadModel gives them, and without buffers."""
    named = [(name.removeprefix("transformer."), tensor) for name, tensor in raw.items()]
    tensors = {name: tensor for name, tensor in named if not BUFFERS.fullmatch(name)}
    twice = sorted(name for name in tensors if name in raw and f"transformer.{name}" in raw)
    if twice:
        raise CheckpointError(
            f"The checkpoint holds these with and without the prefix 'transformer.': {listed(twice)}."
        )
    return tensors


def tensor_shapes(cfg: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """The name and shape of every tensor of a GPT-2 folder."""
    d_model, d_mlp = cfg.d_model, cfg.d_mlp or 4 * cfg.d_model
    layer_shapes = {
        "ln_1.weight": (d_model,),
        "ln_1.bias": (d_model,),
        "attn.c_attn.weight": (d_model, 3 * d_model),
        "attn.c_attn.bias": (3 * d_model,),
        "attn.c_proj.weight": (d_model, d_model),
        "attn.c_proj.bias": (d_model,),
        "ln_2.weight": (d_model,),
        "ln_2.bias": (d_model,),
        "mlp.c_fc.weight": (d_model, d_mlp),
        "mlp.c_fc.bias": (d_mlp,),
        "mlp.c_proj.weight": (d_mlp, d_model),
        "mlp.c_proj.bias": (d_model,),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (cfg.d_vocab, d_model),
        "wpe.weight": (cfg.n_ctx, d_model),
        **{f"h.{layer}.{name}": shape for layer in range(cfg.n_layers) for name, shape in layer_shapes.items()},
        "ln_f.weight": (d_model,),
        "ln_f.bias": (d_model,),
    }
    return shapes if cfg.tie_word_embeddings else shapes | {"lm_head.weight": (cfg.d_vocab, d_model)}


def _views(cfg: TransformerConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The parameters under our names; none is a copy."""
    state = {ours: tensors[theirs] for ours, theirs in NAMES.items()}
    for layer in range(cfg.n_layers):
        ours, theirs = f"blocks.{layer}.", f"h.{layer}."
        state |= {ours + name: tensors[theirs + other] for name, other in LAYER_NAMES.items()}
        weights = tensors[theirs + "attn.c_attn.weight"].chunk(3, dim=-1)
        biases = tensors[theirs + "attn.c_attn.bias"].chunk(3)
        for letter, weight, bias in zip("QKV", weights, biases, strict=True):
            state[f"{ours}attn.W_{letter}"] = weight.unflatten(-1, (cfg.n_heads, cfg.d_head)).transpose(0, 1)
            state[f"{ours}attn.b_{letter}"] = bias.unflatten(-1, (cfg.n_heads, cfg.d_head))
        state[ours + "attn.W_O"] = tensors[theirs + "attn.c_proj.weight"].unflatten(0, (cfg.n_heads, cfg.d_head))
    if not cfg.tie_word_embeddings:
        state |= {"unembed.W_U": tensors["lm_head.weight"].T, "unembed.b_U": torch.zeros(cfg.d_vocab)}
    return state
