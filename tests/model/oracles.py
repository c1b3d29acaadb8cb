"""Tiny random models, of ours and of transformers."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from headlight.model import Transformer, TransformerConfig

# Float32 sums in another order: some hundred products of size 1, each rounded to 6e-8 of itself.
RTOL, ATOL = 1e-5, 2e-5

# Odd sizes, with n_heads * d_head != d_model, tell every axis from every other.
TINY: dict[str, Any] = {
    "n_layers": 2,
    "d_model": 12,
    "n_ctx": 10,
    "n_heads": 3,
    "d_head": 5,
    "d_vocab": 19,
    "d_mlp": 31,
}

# What shapes of a state dict cannot tell, as it is of `TINY`.
ASKED: dict[str, Any] = {
    "act_fn": "gelu_new",
    "attention_dir": "causal",
    "positional_embedding_type": "standard",
    "attn_scale": None,
    "window_size": None,
}

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tied": {"tie_word_embeddings": True},
    "other output vocabulary": {"d_vocab_out": 7},
    "attention only": {"attn_only": True, "d_mlp": None},
    "LNPre": {"normalization_type": "LNPre"},
    "no normalisation": {"normalization_type": None},
    "bidirectional": {"attention_dir": "bidirectional"},
    "relu": {"act_fn": "relu"},
    "gelu": {"act_fn": "gelu"},
    "silu": {"act_fn": "silu"},
    "scale of one": {"attn_scale": 1.0},
    "scale by layer": {"scale_attn_by_inverse_layer_idx": True},
    "large eps": {"eps": 0.1},
}


def random_model(seed: int = 0, **settings: Any) -> Transformer:
    """A tiny model in which no parameter is left at zero or one, so that each of them matters."""
    model = Transformer(TransformerConfig(**(TINY | settings)))
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        is_gain = name.endswith((".w", "ln_final.w"))
        torch.nn.init.normal_(parameter, mean=float(is_gain), std=0.4, generator=generator)
    return model


def random_tokens(batch: int = 2, n_pos: int = 7, seed: int = 0, d_vocab: int = TINY["d_vocab"]) -> Tensor:
    """Token ids drawn evenly."""
    return torch.randint(d_vocab, (batch, n_pos), generator=torch.Generator().manual_seed(seed))


def random_gpt2(seed: int = 0, **settings: Any) -> GPT2LMHeadModel:
    """A tiny GPT-2 of transformers in which no parameter is left at zero or one."""
    sizes = {"n_layer": 2, "n_embd": 12, "n_positions": 10, "n_head": 3, "vocab_size": 19}
    special = {"bos_token_id": 0, "eos_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(**(sizes | special | {"attn_implementation": "eager"} | settings)))
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        is_gain = "ln_" in name and name.endswith("weight")
        torch.nn.init.normal_(parameter, mean=float(is_gain), std=0.4, generator=generator)
    return model.eval()


def assert_mapped(tensors: dict[str, Tensor], path: Path) -> None:
    """Every tensor lies in the memory map of a file at that path, or in that folder."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("only Linux tells what a process has mapped")
    lines = [line.split() for line in maps.read_text().splitlines() if str(path) in line]
    spans = [tuple(int(end, 16) for end in fields[0].split("-")) for fields in lines]
    assert not [name for name, t in tensors.items() if not any(start <= t.data_ptr() < end for start, end in spans)]
