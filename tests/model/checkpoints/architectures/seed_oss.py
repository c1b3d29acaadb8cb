"""Seed-OSS."""

from transformers import SeedOssConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "biases before": SeedOssConfig(**SIZES),
    "biases before and after, tied": SeedOssConfig(**SIZES, attention_out_bias=True, tie_word_embeddings=True),
    "none, linear": SeedOssConfig(
        **SIZES | {"num_key_value_heads": 5},
        attention_bias=False,
        mlp_bias=True,
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
