"""OPT."""

from transformers import OPTConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 24,
    "ffn_dim": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "max_position_embeddings": 32,
}

COPIED = r"embed\.W_E|unembed\.W_U"  # where they are narrow, they are products

CONFIGS = {
    "norms before": OPTConfig(**SIZES),
    "norms after": OPTConfig(**SIZES, do_layer_norm_before=False, activation_function="gelu"),
    "narrow embeddings, norms after": OPTConfig(**SIZES, word_embed_proj_dim=10, do_layer_norm_before=False),
    "narrow embeddings, untied": OPTConfig(**SIZES, word_embed_proj_dim=10, tie_word_embeddings=False),
    "no biases, no gains, untied": OPTConfig(
        **SIZES, enable_bias=False, layer_norm_elementwise_affine=False, tie_word_embeddings=False
    ),
}
