"""OpenAI GPT, the first one."""

from transformers import OpenAIGPTConfig

SIZES = {"vocab_size": 23, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 32}

CONFIGS = {
    "tied": OpenAIGPTConfig(**SIZES),
    "untied, silu": OpenAIGPTConfig(**SIZES | {"n_head": 3}, afn="silu", tie_word_embeddings=False),
    "relu, two layers": OpenAIGPTConfig(**SIZES | {"n_layer": 2}, afn="relu", layer_norm_epsilon=0.01),
}
