"""Gemma."""

from transformers import GemmaConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "one key and value": GemmaConfig(**SIZES, pad_token_id=None),
    "untied, biases": GemmaConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        tie_word_embeddings=False,
        attention_bias=True,
        rms_norm_eps=0.01,
    ),
    "linear, old name of the activation": GemmaConfig(
        **SIZES | {"num_key_value_heads": 5},
        pad_token_id=None,
        hidden_act="gelu",
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
