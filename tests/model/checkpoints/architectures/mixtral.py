"""Mixtral."""

from transformers import MixtralConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "two of three": MixtralConfig(**SIZES, num_local_experts=3),
    "one of four, window": MixtralConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        num_local_experts=4,
        num_experts_per_tok=1,
        sliding_window=5,
    ),
    "all, tied": MixtralConfig(
        **SIZES | {"num_key_value_heads": 5},
        num_local_experts=2,
        num_experts_per_tok=2,
        tie_word_embeddings=True,
        hidden_act="gelu",
    ),
}
