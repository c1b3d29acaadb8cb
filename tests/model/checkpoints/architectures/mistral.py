"""Mistral."""

from transformers import MistralConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "window": MistralConfig(**SIZES, sliding_window=5),
    "no window": MistralConfig(**SIZES | {"num_key_value_heads": 5}, sliding_window=None),
    "tied": MistralConfig(**SIZES, sliding_window=3, tie_word_embeddings=True, hidden_act="gelu"),
}
