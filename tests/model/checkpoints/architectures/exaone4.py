"""EXAONE 4."""

from transformers import Exaone4Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "windows, one global": Exaone4Config(
        **SIZES, sliding_window=5, layer_types=["sliding_attention", "full_attention", "sliding_attention"]
    ),
    "all global and turned, tied": Exaone4Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        sliding_window=None,
        layer_types=["full_attention"] * 3,
        tie_word_embeddings=True,
        rms_norm_eps=0.01,
    ),
    "every second global": Exaone4Config(
        **SIZES | {"num_key_value_heads": 5},
        sliding_window=3,
        sliding_window_pattern=2,
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
