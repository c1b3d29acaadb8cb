"""A model to which each letter is a word, run with edits, without, and with hook functions written by hand."""

from collections.abc import Sequence
from typing import Any

import tokenizers
import torch
from torch import Tensor

from headlight.model import Tokenizer, Transformer
from headlight.model.runs.edits import Edit
from headlight.model.runs.edits.editing import run_with_edits

A, B = "a b c d e f g", "h i c j e k g"
IDS = {word: number for number, word in enumerate([*"abcdefghijklm", "<s>"])}
HEADS = ((0, 1), (1, 2))
Z = "blocks.{}.attn.hook_z"


def words(model: Transformer) -> Transformer:
    """With a tokenizer to which each letter is a word, and that can begin a text."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(IDS, unk_token="m"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    model.tokenizer = Tokenizer(backend, roles={"bos_token": "<s>"})
    return model


def edited(model: Transformer, *edits: Edit, prompt: str = A, bos: bool = False) -> Tensor:
    with torch.inference_mode():
        return run_with_edits(model, model.to_tokens(prompt, prepend_bos=bos), edits, prepend_bos=bos)[0]


def clean(model: Transformer, prompt: str = A, bos: bool = False) -> Tensor:
    with torch.inference_mode():
        return model(model.to_tokens(prompt, prepend_bos=bos))


def by_hand(model: Transformer, hooks: Sequence[tuple[str, Any]], prompt: str = A) -> Tensor:
    with torch.inference_mode():
        return model.run_with_hooks(model.to_tokens(prompt), hooks)
