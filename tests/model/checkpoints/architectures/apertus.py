"""Apertus."""

from transformers import ApertusConfig

from tests.model.checkpoints.architectures.llama import SIZES

ROPE = {"rope_type": "default", "rope_theta": 500.0}

CONFIGS = {
    "a learned activation": ApertusConfig(**SIZES, pad_token_id=None, rope_parameters=ROPE),
    "biases, tied": ApertusConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        attention_bias=True,
        tie_word_embeddings=True,
        rms_norm_eps=0.01,
    ),
    "another activation": ApertusConfig(
        **SIZES | {"num_key_value_heads": 5}, pad_token_id=None, hidden_act="relu2", rope_parameters=ROPE
    ),
}
