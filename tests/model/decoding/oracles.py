"""Small models that write, and decoding as plainly as it can be said: the whole sequence run anew for every token."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

from headlight.model import Transformer, load
from headlight.model.decoding.steps import Model
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from tests.model.oracles import random_gpt2

SEQ2SEQ: dict[str, Any] = {
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "d_model": 12,
    "n_ctx": 10,
    "n_heads": 3,
    "d_head": 5,
    "d_value": 4,
    "d_vocab": 11,
    "d_vocab_out": 7,
    "start_token": 5,
    "end_token": 6,
    "d_mlp": 31,
}


def random_seq2seq(seed: int = 0, **settings: Any) -> Seq2SeqTransformer:
    """A tiny encoder-decoder in which no parameter is left at zero or one."""
    model = Seq2SeqTransformer(Seq2SeqConfig(**(SEQ2SEQ | settings)))
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, mean=float(name.endswith(".w")), std=0.4, generator=generator)
    return model.eval()


def gpt2_twins(folder: Path, **settings: Any) -> tuple[Transformer, GPT2LMHeadModel]:
    """The same random weights here and in transformers, whose generation stops at no token of its own accord."""
    theirs = random_gpt2(**({"n_positions": 40} | settings))
    theirs.generation_config.eos_token_id = None
    theirs.generation_config.pad_token_id = 0
    theirs.save_pretrained(folder)
    return load(folder), theirs


@torch.no_grad()
def next_log_probs(model: Model, prompt: Tensor, written: list[int]) -> Tensor:
    """Log-probabilities of the token after what was written, by one run of everything; the prompt is one row."""
    if isinstance(model, Transformer):
        logits = model(torch.cat([prompt, prompt.new_tensor([written])], dim=1))
    else:
        logits = model(prompt, prompt.new_tensor([[model.cfg.start_token, *written]]))
    return logits[0, -1].log_softmax(-1)


def plain_greedy(
    model: Model, prompt: Tensor, n_new: int, stop_tokens: tuple[int, ...]
) -> tuple[list[int], list[float]]:
    """Tokens and their log-probabilities."""
    tokens, log_probs = list[int](), list[float]()
    while len(tokens) < n_new and not (tokens and tokens[-1] in stop_tokens):
        row = next_log_probs(model, prompt, tokens)
        tokens.append(int(row.argmax()))
        log_probs.append(float(row[tokens[-1]]))
    return tokens, log_probs


def padded(rows: list[Tensor], side: str) -> tuple[Tensor, Tensor]:
    """Rows [1, pos] of different length as one batch, and its mask."""
    n_pos = max(row.shape[1] for row in rows)
    tokens, mask = (torch.zeros(len(rows), n_pos, dtype=torch.long) for _ in range(2))
    for index, row in enumerate(rows):
        span = slice(n_pos - row.shape[1], n_pos) if side == "left" else slice(0, row.shape[1])
        tokens[index, span], mask[index, span] = row[0], 1
    return tokens, mask
