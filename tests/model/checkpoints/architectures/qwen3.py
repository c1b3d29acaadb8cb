"""Qwen3."""

from transformers import Qwen3Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "grouped": Qwen3Config(**SIZES),
    "some windows, biases": Qwen3Config(
        **SIZES, use_sliding_window=True, sliding_window=4, max_window_layers=1, attention_bias=True
    ),
    "tied, yarn": Qwen3Config(
        **SIZES | {"num_attention_heads": 6, "num_key_value_heads": 6},
        tie_word_embeddings=True,
        rms_norm_eps=0.01,
        rope_parameters={
            "rope_type": "yarn",
            "factor": 4.0,
            "rope_theta": 500.0,
            "original_max_position_embeddings": 8,
        },
    ),
}
