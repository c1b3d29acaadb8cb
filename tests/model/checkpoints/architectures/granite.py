"""Granite."""

from transformers import GraniteConfig

from tests.model.checkpoints.architectures.llama import SIZES

MULTIPLIERS = {
    "embedding_multiplier": 3.0,
    "attention_multiplier": 0.7,
    "residual_multiplier": 0.22,
    "logits_scaling": 8.0,
}

CONFIGS = {
    "multipliers": GraniteConfig(**SIZES, **MULTIPLIERS),
    "biases, tied": GraniteConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        **MULTIPLIERS,
        attention_bias=True,
        mlp_bias=True,
        tie_word_embeddings=True,
    ),
    "defaults: no scale of scores": GraniteConfig(**SIZES | {"num_key_value_heads": 5}),
}
