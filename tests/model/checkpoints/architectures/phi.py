"""Phi."""

from transformers import PhiConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 24,
    "intermediate_size": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "max_position_embeddings": 32,
}

CONFIGS = {
    "half of each head": PhiConfig(**SIZES, layer_norm_eps=0.01),
    "normalised queries and keys": PhiConfig(**SIZES, qk_layernorm=True),
    "grouped, tied": PhiConfig(
        **SIZES,
        num_key_value_heads=1,
        tie_word_embeddings=True,
        hidden_act="relu",
        rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.25},
    ),
}
