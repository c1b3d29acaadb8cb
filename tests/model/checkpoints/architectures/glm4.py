"""GLM-4."""

from transformers import Glm4Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "two thirds of each head": Glm4Config(**SIZES, pad_token_id=None, partial_rotary_factor=0.67, rms_norm_eps=0.01),
    "whole heads, no biases, tied": Glm4Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        partial_rotary_factor=1.0,
        attention_bias=False,
        tie_word_embeddings=True,
    ),
    "linear": Glm4Config(
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
