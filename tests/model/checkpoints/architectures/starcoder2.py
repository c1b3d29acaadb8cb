"""StarCoder2."""

from transformers import Starcoder2Config

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
    "window": Starcoder2Config(**SIZES, sliding_window=5),
    "no biases": Starcoder2Config(**SIZES, use_bias=False, norm_epsilon=0.01),
    "untied": Starcoder2Config(
        **SIZES | {"num_key_value_heads": 4}, sliding_window=3, tie_word_embeddings=False, hidden_act="gelu"
    ),
}
