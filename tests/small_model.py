"""A GPT-2 folder with small random weights, for tests of what no model has learnt."""

import shutil
from pathlib import Path

import torch

from headlight.model import Transformer, TransformerConfig, save_gpt2
from tests.places import MINI

CFG = TransformerConfig(n_layers=3, d_model=40, n_ctx=100, n_heads=5, d_head=8, d_vocab=4096, tie_word_embeddings=True)


def save_small(path: Path) -> None:
    """Save it with the embedded model's tokenizer."""
    torch.manual_seed(0)
    model = Transformer(CFG)
    for name, parameter in model.named_parameters():
        if name.endswith(("W_Q", "W_K", "W_pos")):
            parameter.data *= 20  # patterns that are far from uniform
    save_gpt2(model, path)
    for file in MINI.glob("tokenizer*.json"):
        shutil.copy(file, path)
