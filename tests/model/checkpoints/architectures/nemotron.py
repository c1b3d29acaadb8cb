"""Nemotron."""

from transformers import NemotronConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "two thirds of each head": NemotronConfig(**SIZES, partial_rotary_factor=0.67, norm_eps=0.01),
    "biases, tied, whole heads": NemotronConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        partial_rotary_factor=1.0,
        attention_bias=True,
        mlp_bias=True,
        tie_word_embeddings=True,
    ),
    "another activation": NemotronConfig(
        **SIZES | {"num_key_value_heads": 5, "head_dim": 8}, hidden_act="gelu", partial_rotary_factor=0.5
    ),
}
