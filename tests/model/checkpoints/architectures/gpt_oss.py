"""gpt-oss."""

from transformers import GptOssConfig

from tests.model.checkpoints.architectures.llama import SIZES

EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
YARN = {
    "rope_type": "yarn",
    "factor": 4.0,
    "rope_theta": 500.0,
    "original_max_position_embeddings": 8,
    "beta_fast": 2.0,
    "beta_slow": 0.5,
    "truncate": False,
}

CONFIGS = {
    "yarn, windows in turns": GptOssConfig(**SIZES, **EXPERTS, sliding_window=5, rope_parameters=YARN),
    "low limit, tied": GptOssConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        **EXPERTS,
        swiglu_limit=1.0,
        layer_types=["full_attention", "sliding_attention", "sliding_attention"],
        sliding_window=3,
        tie_word_embeddings=True,
    ),
    "no biases of attention, all global": GptOssConfig(
        **SIZES | {"num_key_value_heads": 5},
        **EXPERTS,
        layer_types=["full_attention"] * 3,
        attention_bias=False,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    ),
}
