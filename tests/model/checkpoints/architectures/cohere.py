"""Cohere."""

from transformers import CohereConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 24,
    "intermediate_size": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}

CONFIGS = {
    "grouped": CohereConfig(**SIZES, layer_norm_eps=0.01),
    "normalised queries and keys": CohereConfig(**SIZES, use_qk_norm=True, logit_scale=0.3),
    "biases, untied": CohereConfig(
        **SIZES | {"num_key_value_heads": 4}, attention_bias=True, tie_word_embeddings=False, logit_scale=2.0
    ),
}
