"""Arcee."""

from transformers import ArceeConfig

from tests.model.checkpoints.architectures.cohere import SIZES

CONFIGS = {
    "grouped": ArceeConfig(**SIZES, head_dim=8, rms_norm_eps=0.01),
    "biases, tied": ArceeConfig(
        **SIZES | {"num_key_value_heads": 1}, attention_bias=True, mlp_bias=True, tie_word_embeddings=True
    ),
    "yarn": ArceeConfig(
        **SIZES | {"num_key_value_heads": 4},
        rope_parameters={
            "rope_type": "yarn",
            "factor": 4.0,
            "rope_theta": 500.0,
            "original_max_position_embeddings": 8,
        },
    ),
}
