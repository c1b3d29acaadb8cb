"""OLMo 3."""

from transformers import Olmo3Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "windows, stretched where global": Olmo3Config(
        **SIZES,
        pad_token_id=None,
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        rope_parameters={
            "full_attention": {
                "rope_type": "yarn",
                "factor": 4.0,
                "rope_theta": 500.0,
                "original_max_position_embeddings": 8,
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": 20.0},
        },
    ),
    "biases, tied, all local": Olmo3Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        sliding_window=3,
        attention_bias=True,
        tie_word_embeddings=True,
        rms_norm_eps=0.01,
    ),
    "all global": Olmo3Config(
        **SIZES | {"num_key_value_heads": 5}, pad_token_id=None, layer_types=["full_attention"] * 3
    ),
}
