"""Phi-3."""

from transformers import Phi3Config

from tests.model.checkpoints.architectures.llama import SIZES

SPECIAL = {"pad_token_id": None, "bos_token_id": 1, "eos_token_id": 2}
PHI3 = {name: value for name, value in SIZES.items() if name != "head_dim"} | SPECIAL

LONGROPE = PHI3 | {
    "hidden_size": 40,
    "num_key_value_heads": 5,
    "partial_rotary_factor": 0.75,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5, 2.0], "long_factor": [2.0, 3.0, 5.0]},
}

CONFIGS = {
    "grouped": Phi3Config(**SIZES | SPECIAL),
    "part of a head turned, window, tied": Phi3Config(
        **PHI3 | {"hidden_size": 40, "num_attention_heads": 4, "num_key_value_heads": 2},
        partial_rotary_factor=0.6,
        sliding_window=5,
        tie_word_embeddings=True,
    ),
    "longrope, part of a head turned": Phi3Config(**LONGROPE, original_max_position_embeddings=4),
    "longrope, outgrown while it writes": Phi3Config(**LONGROPE, original_max_position_embeddings=8),
}
