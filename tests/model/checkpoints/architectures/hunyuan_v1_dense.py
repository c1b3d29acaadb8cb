"""HunYuan."""

from transformers import HunYuanDenseV1Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "a stretched base": HunYuanDenseV1Config(
        **SIZES,
        pad_token_id=None,
        rope_parameters={"rope_type": "dynamic", "factor": 1.0, "alpha": 50.0, "rope_theta": 500.0},
    ),
    "biases, tied": HunYuanDenseV1Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        attention_bias=True,
        tie_word_embeddings=True,
        rms_norm_eps=0.01,
    ),
    "dynamic": HunYuanDenseV1Config(
        **SIZES | {"max_position_embeddings": 8, "num_key_value_heads": 5},
        pad_token_id=None,
        rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 500.0},
    ),
}
