"""transformers' own models."""

import warnings
from typing import Any

import torch
from torch import Tensor

from tests.bench.prompt import head, prompt

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    import transformers


class Peer:
    """`GPT2LMHeadModel` or another, by fused attention that keeps nothing (sdpa), or with all its outputs (eager)."""

    def __init__(self, device: str) -> None:
        self.device = device

    def version(self) -> str:
        return f"transformers {transformers.__version__} with torch {torch.__version__}"

    def load(self, folder: str) -> None:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        model.generation_config.eos_token_id, model.generation_config.pad_token_id = None, 0
        self.model = model.eval().to(self.device)

    def prompt(self, n_tokens: int) -> Tensor:
        return prompt(n_tokens, self.model.config.vocab_size, self.device)

    def answer(self, n_tokens: int) -> list[float]:
        return head(self.forward(n_tokens).logits)

    def forward(self, n_tokens: int, attention: str = "sdpa") -> Any:
        if self.model.config._attn_implementation != attention:
            self.model.set_attn_implementation(attention)
        everything = attention == "eager"
        return self.model(
            self.prompt(n_tokens), use_cache=False, output_attentions=everything, output_hidden_states=everything
        )

    def generate(self, n_tokens: int, n_new: int) -> list[int]:
        tokens = self.prompt(n_tokens)
        mask = torch.ones_like(tokens)
        return self.model.generate(tokens, attention_mask=mask, do_sample=False, max_new_tokens=n_new)[
            0, n_tokens:
        ].tolist()

    def save(self, folder: str, shape: dict[str, Any], kind: str) -> None:
        """Write a checkpoint of a kind (a `model_type`) and shape with random weights."""
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(kind, **shape, bos_token_id=0, eos_token_id=0)
        transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
