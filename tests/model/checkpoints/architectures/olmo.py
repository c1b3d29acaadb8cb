"""OLMo."""

from transformers import OlmoConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "grouped": OlmoConfig(**SIZES, pad_token_id=None),
    "biases, tied": OlmoConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        attention_bias=True,
        clip_qkv=0.5,
        tie_word_embeddings=True,
    ),
    "linear": OlmoConfig(
        **SIZES | {"num_key_value_heads": 5},
        pad_token_id=None,
        hidden_act="gelu",
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
