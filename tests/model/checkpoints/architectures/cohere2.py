"""Cohere 2."""

from transformers import Cohere2Config

from tests.model.checkpoints.architectures.cohere import SIZES

CONFIGS = {
    "windows, one global": Cohere2Config(
        **SIZES,
        pad_token_id=None,
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        logit_scale=0.3,
    ),
    "biases, untied, every second global": Cohere2Config(
        **SIZES | {"num_key_value_heads": 4},
        pad_token_id=None,
        sliding_window=3,
        sliding_window_pattern=2,
        attention_bias=True,
        tie_word_embeddings=False,
        layer_norm_eps=0.01,
    ),
    "no positions": Cohere2Config(
        **SIZES | {"num_key_value_heads": 1}, pad_token_id=None, layer_types=["full_attention"] * 3, logit_scale=2.0
    ),
}
