"""Ministral 3."""

from typing import Any

from transformers import Ministral3Config

from tests.model.checkpoints.architectures.llama import SIZES


def _growing(beta: float, n_ctx: int, **others: Any) -> dict[str, Any]:
    return {
        "rope_type": "default",
        "rope_theta": 500.0,
        "llama_4_scaling_beta": beta,
        "original_max_position_embeddings": n_ctx,
        **others,
    }


CONFIGS = {
    "yarn, growing queries": Ministral3Config(
        **SIZES,
        rope_parameters=_growing(0.4, 4, rope_type="yarn", factor=4.0, mscale=1.0, mscale_all_dim=0.5),
    ),
    "window, tied": Ministral3Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        rope_parameters=_growing(1.5, 3),
        sliding_window=5,
        tie_word_embeddings=True,
    ),
    "no growth": Ministral3Config(
        **SIZES | {"num_key_value_heads": 5}, rope_parameters=_growing(0.0, 4), rms_norm_eps=0.01, hidden_act="gelu"
    ),
}
