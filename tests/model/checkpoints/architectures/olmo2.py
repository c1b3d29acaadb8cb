"""OLMo 2."""

from transformers import Olmo2Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "grouped": Olmo2Config(**SIZES, pad_token_id=None),
    "biases, tied": Olmo2Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        attention_bias=True,
        tie_word_embeddings=True,
        rms_norm_eps=0.01,
    ),
    "linear": Olmo2Config(
        **SIZES | {"num_key_value_heads": 5, "hidden_size": 30},
        pad_token_id=None,
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
