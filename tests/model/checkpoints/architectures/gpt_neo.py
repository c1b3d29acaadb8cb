"""GPT-Neo."""

from transformers import GPTNeoConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 24,
    "num_layers": 3,
    "num_heads": 3,
    "max_position_embeddings": 32,
    "attention_types": [[["local"], 1], [["global", "local"], 1]],
    "window_size": 5,
}

CONFIGS = {
    "alternating": GPTNeoConfig(**SIZES),
    "untied": GPTNeoConfig(**SIZES, tie_word_embeddings=False, intermediate_size=31, activation_function="gelu"),
    "global": GPTNeoConfig(**SIZES | {"attention_types": [[["global"], 3]]}, layer_norm_epsilon=0.01),
}
