"""GPT-2."""

from transformers import GPT2Config

SIZES = {"vocab_size": 23, "n_embd": 24, "n_layer": 3, "n_head": 3, "n_positions": 32}

CONFIGS = {
    "tied": GPT2Config(**SIZES, layer_norm_epsilon=0.01),
    "untied, another MLP": GPT2Config(
        **SIZES, tie_word_embeddings=False, n_inner=31, activation_function="relu", scale_attn_weights=False
    ),
    "scores by layer": GPT2Config(**SIZES, scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True),
}
