"""Gemma 3, of text alone and with images."""

from transformers import Gemma3Config, Gemma3TextConfig

from tests.model.checkpoints.architectures.llama import SIZES

VISION = {
    "model_type": "siglip_vision_model",
    "hidden_size": 8,
    "intermediate_size": 9,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}

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
    "text part of one with images": Gemma3Config(
        text_config=SIZES | {"pad_token_id": None, "sliding_window": 5, "sliding_window_pattern": 2},
        vision_config=VISION,
    ),
    "all local": Gemma3TextConfig(**SIZES | {"num_key_value_heads": 5}, pad_token_id=None, sliding_window=4),
}
