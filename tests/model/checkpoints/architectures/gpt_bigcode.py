"""GPT-BigCode."""

from transformers import GPTBigCodeConfig

SIZES = {"vocab_size": 23, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 32}

CONFIGS = {
    "multi-query": GPTBigCodeConfig(**SIZES, layer_norm_epsilon=0.01),
    "multi-head": GPTBigCodeConfig(**SIZES, multi_query=False, n_inner=31),
    "not scaled, untied": GPTBigCodeConfig(
        **SIZES,
        scale_attn_weights=False,
        tie_word_embeddings=False,
        attention_softmax_in_fp32=False,
        activation_function="relu",
    ),
}
