"""Gemma 3, of text alone."""

from transformers import Gemma3TextConfig

from tests.model.families.architectures.llama import SIZES

CONFIGS = {
    "windows, two bases": Gemma3TextConfig(
        **SIZES,
        pad_token_id=None,
        sliding_window=5,
        query_pre_attn_scalar=9,
        sliding_window_pattern=2,
        rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 20.0},
        },
    ),
    "all global, untied, caps": Gemma3TextConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        layer_types=["full_attention"] * 3,
        tie_word_embeddings=False,
        final_logit_softcapping=3.0,
        attention_bias=True,
    ),
    "all local": Gemma3TextConfig(**SIZES | {"num_key_value_heads": 5}, pad_token_id=None, sliding_window=4),
}
