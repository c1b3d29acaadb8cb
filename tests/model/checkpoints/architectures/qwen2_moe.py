"""Qwen2-MoE."""

from transformers import Qwen2MoeConfig

from tests.model.checkpoints.architectures.llama import SIZES

EXPERTS = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 9,
    "shared_expert_intermediate_size": 13,
}

CONFIGS = {
    "weights as they are": Qwen2MoeConfig(**SIZES, **EXPERTS),
    "weights that sum to 1, a dense layer, no biases": Qwen2MoeConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        **EXPERTS,
        norm_topk_prob=True,
        mlp_only_layers=[1],
        qkv_bias=False,
    ),
    "every second layer, windows, tied": Qwen2MoeConfig(
        **SIZES | {"num_key_value_heads": 5},
        **EXPERTS,
        decoder_sparse_step=2,
        use_sliding_window=True,
        sliding_window=5,
        tie_word_embeddings=True,
    ),
}
