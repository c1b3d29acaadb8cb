"""OLMoE."""

from transformers import OlmoeConfig

from tests.model.checkpoints.architectures.cohere import SIZES

CONFIGS = {
    "weights as they are": OlmoeConfig(**SIZES, pad_token_id=None, num_experts=4, num_experts_per_tok=2),
    "weights that sum to 1, biases": OlmoeConfig(
        **SIZES | {"num_key_value_heads": 4},
        pad_token_id=None,
        num_experts=3,
        num_experts_per_tok=2,
        norm_topk_prob=True,
        attention_bias=True,
        clip_qkv=0.5,
    ),
    "one of five, tied": OlmoeConfig(
        **SIZES | {"num_key_value_heads": 1},
        pad_token_id=None,
        num_experts=5,
        num_experts_per_tok=1,
        tie_word_embeddings=True,
        rms_norm_eps=0.01,
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
