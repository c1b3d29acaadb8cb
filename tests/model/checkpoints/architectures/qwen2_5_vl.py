"""Qwen2.5-VL, of whose text all is compared."""

from transformers import AutoModelForImageTextToText, Qwen2_5_VLConfig

from tests.model.checkpoints.architectures.cohere import SIZES

MODEL = AutoModelForImageTextToText
VISION = {"hidden_size": 8, "depth": 1, "num_heads": 2, "intermediate_size": 9, "out_hidden_size": 24}
SECTIONS = {"rope_type": "default", "rope_theta": 500.0, "mrope_section": [1, 1, 1]}

CONFIGS = {
    "grouped": Qwen2_5_VLConfig(text_config=SIZES | {"rope_parameters": SECTIONS}, vision_config=VISION),
    "tied": Qwen2_5_VLConfig(
        text_config=SIZES | {"num_key_value_heads": 4, "rope_parameters": SECTIONS, "rms_norm_eps": 0.01},
        vision_config=VISION,
        tie_word_embeddings=True,
    ),
    "some layers within a window": Qwen2_5_VLConfig(
        text_config=SIZES
        | {"rope_parameters": SECTIONS, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
        vision_config=VISION,
    ),
}
