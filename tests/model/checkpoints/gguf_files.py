"""Writing GGUF files of transformers' models by the package gguf, as llama.cpp's convert_hf_to_gguf.py does."""

from pathlib import Path
from typing import Any

import gguf
import torch
from torch import Tensor

KIND = gguf.GGMLQuantizationType
OLD_NAMES = {"llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi2", "phi3", "gpt2"}


def write_gguf(
    path: Path,
    architecture: str,
    theirs: Any,
    kind: Any = KIND.F32,
    more: dict[str, Any] | None = None,
    in_part: int = 0,
) -> None:
    """Write a model; its matrices are of a kind where their rows are as long as that takes, and F32 elsewhere.

    With `in_part` there are so many tensors in each of several files.
    """
    writer, config = gguf.GGUFWriter(path, architecture, split_max_tensors=in_part), theirs.config
    _settings(writer, architecture, config)
    for name, value in (more or {}).items():
        add = {str: writer.add_string, bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}
        writer.add_array(name, value) if isinstance(value, list) else add[type(value)](name, value)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture.upper()], config.num_hidden_layers)
    for name, tensor in _converted(architecture, theirs).items():
        module, _, part = name.rpartition(".")
        called = names.get_name(module)
        if called is None:
            raise KeyError(name)
        numbers = tensor.float().contiguous().numpy()
        in_block = gguf.GGML_QUANT_SIZES[kind][0]
        fits = tensor.ndim > 1 and numbers.shape[-1] % in_block == 0 and kind != KIND.F32
        raw = gguf.quantize(numbers, kind) if fits else numbers
        writer.add_tensor(f"{called}.{part}", raw, raw_dtype=kind if fits else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _settings(writer: Any, architecture: str, config: Any) -> None:
    n_heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // n_heads
    inner = getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None) or 4 * config.hidden_size
    rope: dict[str, Any] = getattr(config, "rope_parameters", None) or {}
    rope = rope.get("full_attention", rope)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(n_heads)
    writer.add_head_count_kv(getattr(config, "num_key_value_heads", None) or n_heads)
    if n_experts := getattr(config, "num_local_experts", None) or getattr(config, "num_experts", None):
        writer.add_expert_count(n_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
    if architecture == "qwen3moe":
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if hasattr(config, "rms_norm_eps"):
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    else:
        writer.add_layer_norm_eps(getattr(config, "layer_norm_eps", None) or config.layer_norm_epsilon)
    if rope:
        writer.add_rope_freq_base(rope["rope_theta"])
        writer.add_rope_dimension_count(int(width * rope.get("partial_rotary_factor", 1.0)))
    if architecture in ("qwen3", "qwen3moe", "gemma", "gemma2", "gemma3"):
        writer.add_key_length(width)
        writer.add_value_length(width)
    if architecture in ("gemma2", "gemma3", "phi3") and config.sliding_window:
        writer.add_sliding_window(config.sliding_window)
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)


def _converted(architecture: str, theirs: Any) -> dict[str, Tensor]:
    """The tensors with their values as llama.cpp wants them, under transformers' names."""
    config, state_dict = theirs.config, dict[str, Tensor]()
    n_heads, tied = config.num_attention_heads, config.tie_word_embeddings
    for name, value in theirs.state_dict().items():
        tensor = value
        if tied and name == "lm_head.weight":
            continue
        if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
            heads = n_heads if "q_proj" in name else config.num_key_value_heads
            shape = (heads, 2, len(tensor) // heads // 2, *tensor.shape[1:])
            tensor = tensor.reshape(shape).transpose(1, 2).reshape(tensor.shape)
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            tensor = tensor + 1
        if architecture == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            tensor = tensor.T
        if name.endswith("experts.gate_up_proj"):
            of_gate, of_linear = tensor.chunk(2, dim=1)
            state_dict |= {
                name.replace("gate_up_proj", f"{part}_proj.weight"): half
                for part, half in (("gate", of_gate), ("up", of_linear))
            }
            continue
        state_dict[f"{name}.weight" if name.endswith("experts.down_proj") else name] = tensor
    if architecture == "phi2":  # queries, keys and values one behind the other
        for layer in range(config.num_hidden_layers):
            for part in ("weight", "bias"):
                at = f"model.layers.{layer}.self_attn."
                parts = [state_dict.pop(f"{at}{role}_proj.{part}") for role in "qkv"]
                state_dict[f"transformer.h.{layer}.mixer.Wqkv.{part}"] = torch.cat(parts)
    return state_dict
