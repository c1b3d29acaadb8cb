"""StableLM."""

from transformers import StableLmConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 32,
    "intermediate_size": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}

CONFIGS = {
    "a quarter of each head": StableLmConfig(**SIZES, layer_norm_eps=0.01),
    "parallel, biases": StableLmConfig(**SIZES, use_parallel_residual=True, use_qkv_bias=True),
    "normalised queries and keys, tied": StableLmConfig(**SIZES, qk_layernorm=True, tie_word_embeddings=True),
    "not grouped": StableLmConfig(
        **SIZES | {"num_key_value_heads": 4},
        qk_layernorm=True,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 1.0},
    ),
}
