"""Falcon."""

from typing import Any

import torch
from torch import nn
from transformers import FalconConfig, FalconForCausalLM, PreTrainedModel

SIZES = {
    "vocab_size": 23,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 32,
}

COPIED = r"blocks\.\d+\.attn\.W_Q"  # the queries of a group lie behind those of another's keys and values

CONFIGS = {
    "multi-query": FalconConfig(**SIZES, layer_norm_epsilon=0.01),
    "multi-query, one after the other, untied": FalconConfig(
        **SIZES, parallel_attn=False, bias=True, tie_word_embeddings=False
    ),
    "multi-head": FalconConfig(**SIZES, multi_query=False, bias=True, ffn_hidden_size=31),
    "grouped, two norms": FalconConfig(**SIZES, new_decoder_architecture=True, num_kv_heads=2),
    "grouped, one norm, scaled": FalconConfig(
        **SIZES,
        new_decoder_architecture=True,
        num_kv_heads=2,
        num_ln_in_parallel_attn=1,
        bias=True,
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
    "ALiBi": FalconConfig(
        **SIZES | {"num_attention_heads": 12}, alibi=True, multi_query=False, parallel_attn=False, bias=True
    ),
    "ALiBi, multi-query": FalconConfig(**SIZES, alibi=True),
}


def repair(model: PreTrainedModel) -> None:
    """Have eager attention add ALiBi once: version 5.23 puts it into the mask as well, which only sdpa's path should.

    `test_falcon.py` holds the repaired model to the path of sdpa, which Falcon takes when nothing is asked for.
    """
    if isinstance(model, FalconForCausalLM) and model.config.alibi:
        for layer in model.transformer.h:
            layer.self_attention.register_forward_pre_hook(_with_plain_mask, with_kwargs=True)


def _with_plain_mask(_: nn.Module, args: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    mask = named["attention_mask"]
    hidden = mask == torch.finfo(mask.dtype).min
    return args, named | {"attention_mask": torch.zeros_like(mask).masked_fill(hidden, torch.finfo(mask.dtype).min)}
