"""XGLM."""

from transformers import XGLMConfig

SIZES = {
    "vocab_size": 23,
    "d_model": 20,
    "ffn_dim": 31,
    "num_layers": 3,
    "attention_heads": 4,
    "max_position_embeddings": 32,
}
COPIED = r"pos_embed\.W_pos"  # it is a formula

CONFIGS = {
    "tied": XGLMConfig(**SIZES),
    "untied, not scaled": XGLMConfig(
        **SIZES | {"attention_heads": 5}, tie_word_embeddings=False, scale_embedding=False, activation_function="relu"
    ),
    "a position of zeros, an odd width": XGLMConfig(**SIZES | {"d_model": 21, "attention_heads": 3}, pad_token_id=5),
}
