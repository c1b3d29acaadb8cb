"""BLOOM."""

from transformers import BloomConfig

SIZES = {"vocab_size": 23, "hidden_size": 24, "n_layer": 3, "n_head": 4}

CONFIGS = {
    "a power of two of heads": BloomConfig(**SIZES),
    "between powers of two": BloomConfig(**SIZES | {"n_head": 12}, layer_norm_epsilon=0.01),
    "untied, three heads": BloomConfig(**SIZES | {"n_head": 3}, tie_word_embeddings=False, seq_length=32),
}
