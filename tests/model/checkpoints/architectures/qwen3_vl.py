"""Qwen3-VL, of whose text all is compared."""

from transformers import AutoModelForImageTextToText, Qwen3VLConfig

from tests.model.checkpoints.architectures.llama import SIZES

MODEL = AutoModelForImageTextToText
VISION = {
    "hidden_size": 8,
    "depth": 1,
    "num_heads": 2,
    "intermediate_size": 9,
    "out_hidden_size": 20,
    "deepstack_visual_indexes": [0],
}
SECTIONS = {"rope_type": "default", "rope_theta": 500.0, "mrope_section": [1, 1, 1], "mrope_interleaved": True}

CONFIGS = {
    "grouped": Qwen3VLConfig(text_config=SIZES | {"rope_parameters": SECTIONS}, vision_config=VISION),
    "biases, tied": Qwen3VLConfig(
        text_config=SIZES
        | {"num_attention_heads": 4, "num_key_value_heads": 2, "attention_bias": True, "rope_parameters": SECTIONS},
        vision_config=VISION,
        tie_word_embeddings=True,
    ),
    "another activation": Qwen3VLConfig(
        text_config=SIZES
        | {"num_key_value_heads": 5, "rope_parameters": SECTIONS, "hidden_act": "gelu", "rms_norm_eps": 0.01},
        vision_config=VISION,
    ),
}
