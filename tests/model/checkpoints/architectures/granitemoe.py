"""Granite-MoE."""

from transformers import GraniteMoeConfig

from tests.model.checkpoints.architectures.granite import MULTIPLIERS
from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "two of four": GraniteMoeConfig(**SIZES, **MULTIPLIERS, num_local_experts=4),
    "one of three, biases, tied": GraniteMoeConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        **MULTIPLIERS,
        num_local_experts=3,
        num_experts_per_tok=1,
        attention_bias=True,
        tie_word_embeddings=True,
    ),
    "all, defaults: no scale of scores": GraniteMoeConfig(
        **SIZES | {"num_key_value_heads": 5}, num_local_experts=2, rms_norm_eps=0.01
    ),
}
