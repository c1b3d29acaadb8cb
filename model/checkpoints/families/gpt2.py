"""Hugging Face GPT-2 folders, config.json and safetensors, read as views.

The fused c_attn.weight [d_model, 3 d_model] has the columns of queries, keys and values side by side, each of these
head by head, so the per-head parameters are slices of it.

Source: transformers' GPT2Config and modeling_gpt2 for the names, the defaults and the order of the fused columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import UNEMBED, activation, filled, layers, needed_by, plain_names
from headlight.model.checkpoints.decoder import norm, outside
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, skeleton
from headlight.model.checkpoints.folders import (
    is_tied,
    read_config_file,
    read_folder,
    read_model,
    weight_files,
)
from headlight.model.checkpoints.gguf.header import is_gguf
from headlight.model.checkpoints.heads import (
    has_own_heads,
    has_value_head,
    head_of,
    value_head,
    without_other_prefix,
    without_own_heads,
)
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.lora import is_adapter
from headlight.model.checkpoints.pooling import is_sentence_encoder, with_sentence
from headlight.model.checkpoints.quantization.methods import check_quantisation
from headlight.model.checkpoints.resemblance import likeness
from headlight.model.checkpoints.tensors import check_depth
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, table, vector
from headlight.model.compute.quantised import Quantised
from headlight.model.nn.config import TransformerConfig

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
ALIASES = {  # by which transformers reads config.json as well
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}
EMBEDDING = "wte.weight"
SWITCHES = ("scale_attn_weights", "scale_attn_by_inverse_layer_idx", "tie_word_embeddings")
KEYS = Keys(
    tuple(DEFAULTS),
    DECODER
    | dict.fromkeys(SWITCHES, (True, False))
    | {"add_cross_attention": (False, None), "pruned_heads": ({}, None)},
)
PREFIX = "transformer."  # which GPT2LMHeadModel gives its body's tensors
FUSED = "h.0.attn.c_attn.weight"
BODY_PARTS = ("wte.", "wpe.", "h.", "ln_f.")
BUFFERS = r"h\.\d+\.attn\.(bias|masked_bias)"  # causal masks that old versions stored


def read(folder: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[TransformerConfig]:
    """Read a GPT-2 folder's config, and its parameters as views of its files.

    Raises:
        CheckpointError: damaged files, or tensors that do not match config.json.
        ConfigError: settings in config.json that are not supported.
    """
    raw_config = read_config_file(folder)
    check_quantisation(raw_config)
    hf_config = DEFAULTS | {ALIASES.get(name, name): value for name, value in raw_config.items()}
    KEYS.check(hf_config)
    says_tied, names = hf_config["tie_word_embeddings"], _names
    head = (
        None
        if is_gguf(folder)
        else head_of(raw_config, names(read_folder(folder)), UNEMBED, is_encoder=is_sentence_encoder(folder))
    )
    says_tied = says_tied and head is None
    tensors = read_model(folder, names, UNEMBED, ((EMBEDDING, UNEMBED),) if says_tied else (), transposed=True)
    if is_adapter(folder) and EMBEDDING in tensors:
        hf_config["vocab_size"] = len(tensors[EMBEDDING])  # which may have tokens more than its base's
    translated = _translated(hf_config)
    if says_tied:
        translated["tie_word_embeddings"] = is_tied(tensors.get(UNEMBED), tensors.get(EMBEDDING))
    if head is not None:
        translated = head.applied(translated)
        tensors.pop(UNEMBED, None)
    cfg = TransformerConfig(**(translated | {"value_head": has_value_head(tensors)} | settings))
    if head is None:
        require_gpt2(cfg)
    if cfg.tie_word_embeddings:
        tensors.pop(UNEMBED, None)
    check_depth(tensors, cfg.n_layers)
    weights = weight_map(cfg, has_linear_layers(tensors)) | value_head(cfg, tensors)
    weights = weights if head is None else head.mapped(weights, cfg)
    said = ""
    if has_own_heads(raw_config):
        beside = [name for name in tensors if not name.startswith(BODY_PARTS)]
        tensors, said = without_own_heads(raw_config, tensors, beside, needed_by(weights))
    state = filled(weights, tensors, BUFFERS, how, skeleton(cfg))
    unread = tuple(KEYS.unread(hf_config))
    return with_sentence(folder, Checkpoint(cfg, state, weight_files(folder), said, unread))


def _names(raw: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors without a prefix; quantised matrices are [out, in] and are transposed here."""
    return {
        name: tensor.T if isinstance(tensor, Quantised) and name.startswith("h.") else tensor
        for name, tensor in plain_names(without_other_prefix(raw), PREFIX).items()
    }


def _likeness(names: Iterable[str]) -> float:
    smallest = TransformerConfig(
        n_layers=1, d_model=1, n_ctx=1, n_heads=1, d_head=1, d_vocab=1, tie_word_embeddings=True
    )
    known = {weight.name for weight in weight_map(smallest).values()}
    return likeness({name.removeprefix(PREFIX) for name in names} - {UNEMBED}, known)


FAMILY = Family("gpt2", read, _likeness)


def weight_map(cfg: TransformerConfig, is_linear: bool = False) -> WeightMap:
    """Map GPT-2's checkpoint tensors to parameter names; with `is_linear` layers hold their matrices as [out, in]."""
    weights = layers(cfg, lambda at: layer(cfg, at), "h.{}.")
    if is_linear:
        weights = {name: _turned(weight) if len(weight.shape) == 2 else weight for name, weight in weights.items()}
    return weights | around(cfg)


def _turned(weight: WeightView) -> WeightView:
    return replace(weight, shape=weight.shape[::-1], view=lambda tensor: weight.view(tensor.T))


def has_linear_layers(tensors: Mapping[str, Tensor]) -> bool:
    """Whether layers hold their matrices as [out, in], as torch's Linear and not as GPT-2's own class does."""
    shape = tensors[FUSED].shape if FUSED in tensors else ()
    return len(shape) == 2 and shape[0] == 3 * shape[1]


def around(cfg: TransformerConfig) -> WeightMap:
    """Map the tensors outside the layers of GPT-2 and its variants: embeddings, final norm, unembedding."""
    positions = {"pos_embed.W_pos": table("wpe.weight", cfg.n_ctx, cfg.d_model)}
    return positions | outside(cfg, "ln_f", EMBEDDING)


def layer(cfg: TransformerConfig, at: str) -> WeightMap:
    """Map one layer: Conv1D weights are stored as [in, out], with queries, keys and values fused."""
    d_model, d_mlp, heads = cfg.d_model, cfg.d_mlp or 4 * cfg.d_model, (cfg.n_heads, cfg.d_head)
    weights = {
        "attn.W_O": WeightView(
            f"{at}attn.c_proj.weight", (d_model, d_model), lambda tensor: tensor.unflatten(0, heads)
        ),
        "attn.b_O": vector(f"{at}attn.c_proj.bias", d_model),
        "mlp.W_in": table(f"{at}mlp.c_fc.weight", d_model, d_mlp),
        "mlp.b_in": vector(f"{at}mlp.c_fc.bias", d_mlp),
        "mlp.W_out": table(f"{at}mlp.c_proj.weight", d_mlp, d_model),
        "mlp.b_out": vector(f"{at}mlp.c_proj.bias", d_model),
    }
    for place, role in enumerate("QKV"):
        of_role = partial(_of_role, place, heads)
        read = WeightView(f"{at}attn.c_attn.weight", (d_model, 3 * d_model), of_role)
        weights[f"attn.W_{role}"] = read.then(lambda tensor: tensor.transpose(0, 1))
        weights[f"attn.b_{role}"] = WeightView(f"{at}attn.c_attn.bias", (3 * d_model,), of_role)
    return weights | norm("ln1", f"{at}ln_1", d_model) | norm("ln2", f"{at}ln_2", d_model)


def _of_role(place: int, heads: tuple[int, int], tensor: Tensor) -> Tensor:
    return tensor.chunk(3, dim=-1)[place].unflatten(-1, heads)


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


def require(name: str, value: object, *allowed: object) -> None:
    """Refuse a setting that a GPT-2 folder cannot hold.

    Raises:
        ConfigError: the value is none of those allowed.
    """
    if value not in allowed:
        values = " or ".join(map(repr, allowed))
        raise ConfigError(f"A GPT-2 folder cannot hold {name} = {value!r}; it can be {values}.")


def _translated(hf_config: dict[str, Any]) -> dict[str, Any]:
    """Translate config.json to the fields of `TransformerConfig`."""
    return {
        "n_layers": hf_config["n_layer"],
        "d_model": hf_config["n_embd"],
        "n_ctx": hf_config["n_positions"],
        "n_heads": hf_config["n_head"],
        "d_head": _d_head(hf_config["n_embd"], hf_config["n_head"]),
        "d_vocab": hf_config["vocab_size"],
        "d_mlp": hf_config["n_inner"],
        "act_fn": activation(hf_config["activation_function"]),
        "eps": hf_config["layer_norm_epsilon"],
        "attn_scale": None if hf_config["scale_attn_weights"] else 1.0,  # None: the usual sqrt(d_head)
        "scale_attn_by_inverse_layer_idx": hf_config["scale_attn_by_inverse_layer_idx"],
        "attention_dir": "causal" if hf_config.get("is_causal", True) else "bidirectional",
        "tie_word_embeddings": hf_config["tie_word_embeddings"],
    }


def _d_head(d_model: object, n_heads: object) -> int:
    if not isinstance(d_model, int) or not isinstance(n_heads, int) or n_heads < 1 or d_model % n_heads:
        raise ConfigError(
            f"config.json sets n_embd to {d_model!r} and n_head to {n_heads!r}; n_head must divide n_embd."
        )
    return d_model // n_heads
