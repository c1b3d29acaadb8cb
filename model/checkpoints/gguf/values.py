"""Inverse of the changes that llama.cpp's conversion makes to tensors' values."""

import re
from functools import partial
from typing import Any

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.compute.quantised import Quantised, of_rows

BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")

Tensors = dict[str, Tensor]


def unpermuted(tensors: Tensors, config: dict[str, Any]) -> Tensors:
    """Queries and keys whose rotated pairs lie in the two halves of a head, and not side by side."""
    heads = {"attn_q": config["num_attention_heads"]}
    heads["attn_k"] = config.get("num_key_value_heads", heads["attn_q"])

    def mended(name: str, tensor: Tensor) -> Tensor:
        match = BLOCK.fullmatch(name)
        if match is None or match[2] not in heads:
            return tensor
        n_heads = heads[match[2]]
        if type(n_heads) is not int or n_heads < 1 or len(tensor) % (2 * n_heads):
            raise CheckpointError(f"{name} has {len(tensor)} rows, which {n_heads} heads do not divide into pairs.")
        return of_rows(tensor, partial(_halves, n_heads))

    return {name: mended(name, tensor) for name, tensor in tensors.items()}


def _halves(n_heads: int, rows: Tensor) -> Tensor:
    pairs = rows.unflatten(0, (n_heads, len(rows) // n_heads // 2, 2))
    return pairs.transpose(1, 2).flatten(0, 2)


def less_one(tensors: Tensors, _: dict[str, Any]) -> Tensors:
    """Gains as Gemma stores them, less 1."""
    return {name: tensor - 1 if name.endswith("norm.weight") else tensor for name, tensor in tensors.items()}


def parted(tensors: Tensors, config: dict[str, Any]) -> Tensors:
    """Phi's queries, keys and values, which lie one behind the other, apart."""
    renamed: Tensors = {}
    for name, tensor in tensors.items():
        match = BLOCK.fullmatch(name)
        if match is None or match[2] != "attn_qkv":
            renamed[name] = tensor
            continue
        n_heads = config["num_attention_heads"]
        shared = config.get("num_key_value_heads", n_heads)
        width = len(tensor) // (n_heads + 2 * shared)
        ends = [0, n_heads * width, (n_heads + shared) * width, (n_heads + 2 * shared) * width]
        for role, begin, end in zip("qkv", ends, ends[1:], strict=False):
            rows = slice(begin, end)
            renamed[f"blk.{match[1]}.attn_{role}.{match[3]}"] = of_rows(tensor, partial(_slice, rows))
    return renamed


def _slice(rows: slice, tensor: Tensor) -> Tensor:
    return tensor[rows]


def turned(tensors: Tensors, _: dict[str, Any]) -> Tensors:
    """Matrices as GPT-2's own class holds them, [in, out]; its family turns those that are quantised itself."""

    def is_turned(name: str, tensor: Tensor) -> bool:
        return BLOCK.fullmatch(name) is not None and tensor.ndim == 2 and not isinstance(tensor, Quantised)

    return {name: tensor.T if is_turned(name, tensor) else tensor for name, tensor in tensors.items()}
