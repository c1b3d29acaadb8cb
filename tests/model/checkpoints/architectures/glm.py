"""GLM."""

from transformers import GlmConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "two thirds of each head": GlmConfig(**SIZES, pad_token_id=None, partial_rotary_factor=0.67, rms_norm_eps=0.01),
    "whole heads, no biases, tied": GlmConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        partial_rotary_factor=1.0,
        attention_bias=False,
        tie_word_embeddings=True,
    ),
    "linear": GlmConfig(
        **SIZES | {"num_key_value_heads": 5, "head_dim": 8},
        pad_token_id=None,
        rope_parameters={
            "rope_type": "linear",
            "factor": 3.0,
            "rope_theta": 500.0,
            "partial_rotary_factor": 0.5,
        },
    ),
}
