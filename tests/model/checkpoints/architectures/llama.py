"""Llama."""

from transformers import LlamaConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 20,
    "intermediate_size": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 5,
    "num_key_value_heads": 1,
    "head_dim": 6,
    "max_position_embeddings": 32,
}

CONFIGS = {
    "grouped": LlamaConfig(**SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2}),
    "biases, tied": LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "linear": LlamaConfig(**SIZES, rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}),
    "dynamic": LlamaConfig(
        **SIZES | {"max_position_embeddings": 8, "num_key_value_heads": 5},
        rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 500.0},
    ),
    "yarn": LlamaConfig(
        **SIZES,
        rope_parameters={
            "rope_type": "yarn",
            "factor": 4.0,
            "rope_theta": 500.0,
            "original_max_position_embeddings": 8,
            "beta_fast": 2.0,
            "beta_slow": 0.5,
        },
    ),
    "llama3": LlamaConfig(
        **SIZES,
        rms_norm_eps=0.01,
        rope_parameters={
            "rope_type": "llama3",
            "factor": 8.0,
            "rope_theta": 500.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    ),
    "longrope": LlamaConfig(
        **SIZES,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 500.0,
            "original_max_position_embeddings": 4,  # a Llama's old keys transformers turns no more
            "short_factor": [1.0, 1.5, 2.0],
            "long_factor": [2.0, 3.0, 5.0],
        },
    ),
}
