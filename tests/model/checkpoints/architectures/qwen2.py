"""Qwen2."""

from transformers import Qwen2Config

from tests.model.checkpoints.architectures.llama import SIZES

QWEN2 = {name: value for name, value in SIZES.items() if name != "head_dim"}

CONFIGS = {
    "biases of q, k and v": Qwen2Config(**QWEN2),
    "some windows": Qwen2Config(**QWEN2, use_sliding_window=True, sliding_window=4, max_window_layers=1),
    "tied": Qwen2Config(**QWEN2 | {"num_key_value_heads": 5}, tie_word_embeddings=True),
}
