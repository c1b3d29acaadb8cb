"""ERNIE 4.5."""

from transformers import Ernie4_5Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "grouped, tied": Ernie4_5Config(**SIZES, pad_token_id=None, rms_norm_eps=0.01),
    "biases, untied": Ernie4_5Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        use_bias=True,
        tie_word_embeddings=False,
    ),
    "linear": Ernie4_5Config(
        **SIZES | {"num_key_value_heads": 5},
        pad_token_id=None,
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
