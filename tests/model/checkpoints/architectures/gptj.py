"""GPT-J."""

from transformers import GPTJConfig

SIZES = {"vocab_size": 23, "n_embd": 24, "n_layer": 3, "n_head": 3, "n_positions": 32, "rotary_dim": 4}

CONFIGS = {
    "a part of each head": GPTJConfig(**SIZES, layer_norm_epsilon=0.01),
    "whole heads, tied": GPTJConfig(**SIZES | {"rotary_dim": 8}, tie_word_embeddings=True),
    "another MLP": GPTJConfig(**SIZES | {"n_head": 2}, n_inner=31, activation_function="relu"),
}
