"""Map llama.cpp's architectures to those of transformers, with their settings and tensors.

Source: llama.cpp's convert_hf_to_gguf.py, of which this is the way back, and gguf's constants.py.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.gguf import experts
from headlight.model.checkpoints.gguf.header import Header
from headlight.model.checkpoints.gguf.parts import all_tensors, whole_header
from headlight.model.checkpoints.gguf.scaling import scaling
from headlight.model.checkpoints.gguf.values import BLOCK, less_one, parted, turned, unpermuted

EMBEDDING, UNEMBEDDING = "token_embd.weight", "output.weight"
SETTINGS = {
    "context_length": "max_position_embeddings",
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
}
NEEDED = ("context_length", "block_count", "embedding_length", "attention.head_count")
RMS = {"attention.layer_norm_rms_epsilon": "rms_norm_eps"}
ROPE = {"rope.freq_base": "rope_theta"}
WIDE = {"attention.key_length": "head_dim"}
WINDOW = {"attention.sliding_window": "sliding_window"}
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LAYER = {
    "attn_norm": "input_layernorm",
    **{f"attn_{role}": f"self_attn.{role}_proj" for role in "qkv"},
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    **{f"ffn_{part}": f"mlp.{part}_proj" for part in ("gate", "up", "down")},
}
HEAD_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
GEMMA_LAYER = LAYER | {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
LARGEST_GEMMA = {"gemma2": 46, "gemma3": 62}  # layers of those whose scores are divided by another width than a head's

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Kind:
    """One of llama.cpp's architectures: transformers' name, and how settings and tensors are named there.

    `more(header, tensors)` are settings that take more than a name, and `mended(tensors, config)` undoes what the
    conversion did to tensors' values, under their names in the file. `experts` names each expert's matrices.
    """

    model_type: str
    settings: Mapping[str, str]
    layer: Mapping[str, str]
    outside: Mapping[str, str] = field(default_factory=lambda: OUTSIDE)
    layers: str = "model.layers.{}."
    more: Callable[[Header], dict[str, Any]] = lambda header: {}
    mended: Callable[[Tensors, dict[str, Any]], Tensors] = lambda tensors, config: tensors
    experts: Mapping[str, str] | None = None


def config_of(path: Path) -> dict[str, Any]:
    """Build the model's config.json from a file's metadata.

    Raises:
        CheckpointError: the file is damaged, a part of several, or of an architecture that is not read.
    """
    header = whole_header(path)
    kind = _kind(path, header)
    if missing := [name for name in NEEDED if header.setting(name) is None]:
        raise CheckpointError(f"{path.name} does not tell {', '.join(missing)} of its {header.architecture}.")
    if EMBEDDING not in header.tensors:
        raise CheckpointError(f"{path.name} holds no {EMBEDDING}. Copy or download it again.")
    settings = {
        theirs: header.setting(ours) for ours, theirs in kind.settings.items() if header.setting(ours) is not None
    }
    return {
        "model_type": kind.model_type,
        "vocab_size": header.tensors[EMBEDDING].shape[0],
        "tie_word_embeddings": UNEMBEDDING not in header.tensors,
        **settings,
        **scaling(path, header),
        **kind.more(header),
    }


def model_type_of(path: Path) -> str:
    """Name in transformers of a file's architecture.

    Raises:
        CheckpointError: as `config_of`.
    """
    return _kind(path, whole_header(path)).model_type


def tensors_of(path: Path) -> Tensors:
    """A file's tensors by the names that transformers gives them.

    Raises:
        CheckpointError: as `config_of`, or a tensor has no place in the architecture.
    """
    kind, config = _kind(path, whole_header(path)), config_of(path)
    raw = {name: tensor for name, tensor in all_tensors(path).items() if not name.startswith("rope_")}
    of_experts = [name for name in raw if re.search(r"_(exps|gate_inp|shexp)\b", name)]
    if of_experts and kind.experts is None:
        raise CheckpointError(
            f"{path.name} has layers of experts ({of_experts[0]}), which are read from GGUF files of Mixtral and "
            "qwen3moe alone. Open the Hugging Face folder that it was made from."
        )
    mended = kind.mended(raw, config)
    if kind.experts is not None:
        n_experts = config.get("num_experts", config.get("num_local_experts"))
        mended = experts.apart(kind.experts, kind.layers, mended, n_experts)
    return {_renamed(path, kind, name): tensor for name, tensor in mended.items()}


def _kind(path: Path, header: Header) -> Kind:
    if header.architecture == "llama" and header.setting("expert_count"):
        return MIXTRAL
    if header.architecture not in KINDS:
        raise CheckpointError(
            f"{path.name} holds a {header.architecture!r}; of GGUF files these are read: {', '.join(KINDS)}. Open the "
            "Hugging Face folder that it was made from."
        )
    return KINDS[header.architecture]


def _renamed(path: Path, kind: Kind, name: str) -> str:
    if name.startswith(kind.layers.partition("{")[0]):
        return name  # an expert's
    module, _, part = name.rpartition(".")
    if module in kind.outside:
        return f"{kind.outside[module]}.{part}"
    if (match := BLOCK.fullmatch(name)) and match[2] in kind.layer:
        return f"{kind.layers.format(int(match[1]))}{kind.layer[match[2]]}.{match[3]}"
    raise CheckpointError(f"{path.name} holds {name}, which a {kind.model_type} has no place for.")


def _head_width(header: Header) -> float:
    return header.setting("embedding_length") / header.setting("attention.head_count")


def _of_llama(header: Header) -> dict[str, Any]:
    biased = {"attention_bias": "attn_q", "mlp_bias": "ffn_gate"}
    has = {name: f"blk.0.{module}.bias" in header.tensors for name, module in biased.items()}
    return has | _of_width(header)


def _of_width(header: Header) -> dict[str, Any]:
    """A head's width, which is that of the rotated part unless the file says another."""
    width = header.setting("attention.key_length", header.setting("rope.dimension_count"))
    return {} if width is None else {"head_dim": width}


def _of_gemma(header: Header) -> dict[str, Any]:
    """Divisor of the scores, which the file does not state, and soft caps."""
    is_largest = header.setting("block_count") == LARGEST_GEMMA[header.architecture]
    scalar = _head_width(header) if is_largest else header.setting("attention.key_length")
    caps = ("attn_logit_softcapping", "final_logit_softcapping")
    return {"query_pre_attn_scalar": scalar} | {name: header.setting(name) for name in caps}


def _of_partial(header: Header) -> dict[str, Any]:
    """The share of each head that is rotated."""
    return {"partial_rotary_factor": header.setting("rope.dimension_count", _head_width(header)) / _head_width(header)}


BASE = SETTINGS | RMS | ROPE
PHI_LAYER = {
    "attn_norm": "input_layernorm",
    **{f"attn_{role}": f"self_attn.{role}_proj" for role in "qkv"},
    "attn_output": "self_attn.dense",
    "ffn_up": "mlp.fc1",
    "ffn_down": "mlp.fc2",
}
PHI3_LAYER = LAYER | {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"}
GPT2_LAYER = {
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
GPT2_SETTINGS = {
    "context_length": "n_positions",
    "block_count": "n_layer",
    "embedding_length": "n_embd",
    "feed_forward_length": "n_inner",
    "attention.head_count": "n_head",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
}
GPT2_OUTSIDE = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
}
PHI_SETTINGS = SETTINGS | ROPE | {"attention.layer_norm_epsilon": "layer_norm_eps"}
WINDOWED = BASE | WIDE | WINDOW
EXPERTS = {"expert_used_count": "num_experts_per_tok"}
MIXTRAL = Kind(
    "mixtral",
    BASE | EXPERTS | {"expert_count": "num_local_experts"},
    LAYER | {"ffn_gate_inp": "block_sparse_moe.gate"},
    more=_of_width,
    mended=unpermuted,
    experts=experts.MIXTRAL,
)
KINDS = {
    "llama": Kind("llama", BASE, LAYER, more=_of_llama, mended=unpermuted),
    "qwen2": Kind("qwen2", BASE, LAYER),
    "qwen3moe": Kind(
        "qwen3_moe",
        BASE | WIDE | EXPERTS | {"expert_count": "num_experts", "expert_feed_forward_length": "moe_intermediate_size"},
        LAYER | HEAD_NORMS | {"ffn_gate_inp": "mlp.gate"},
        more=lambda header: {"norm_topk_prob": True, "mlp_only_layers": [], "decoder_sparse_step": 1},
        experts=experts.QWEN,
    ),
    "qwen3": Kind("qwen3", BASE | WIDE, LAYER | HEAD_NORMS),
    "gemma": Kind("gemma", BASE | WIDE, LAYER, mended=less_one),
    "gemma2": Kind("gemma2", WINDOWED, GEMMA_LAYER, more=_of_gemma, mended=less_one),
    "gemma3": Kind("gemma3_text", WINDOWED, GEMMA_LAYER | HEAD_NORMS, more=_of_gemma, mended=less_one),
    "phi2": Kind(
        "phi",
        PHI_SETTINGS,
        PHI_LAYER,
        OUTSIDE | {"output_norm": "model.final_layernorm"},
        more=_of_partial,
        mended=parted,
    ),
    "phi3": Kind("phi3", BASE | WINDOW, PHI3_LAYER, more=_of_partial),
    "gpt2": Kind("gpt2", GPT2_SETTINGS, GPT2_LAYER, GPT2_OUTSIDE, "transformer.h.{}.", mended=turned),
}
