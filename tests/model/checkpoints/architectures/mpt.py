"""MPT."""

from transformers import MptConfig

SIZES = {"vocab_size": 23, "d_model": 24, "n_layers": 3, "max_seq_len": 32}

CONFIGS = {
    "a power of two of heads": MptConfig(**SIZES, n_heads=4),
    "between powers of two, scaled": MptConfig(
        **SIZES, n_heads=12, attn_config={"softmax_scale": 0.3}, layer_norm_epsilon=0.01
    ),
    "untied, three heads, clipped": MptConfig(
        **SIZES, n_heads=3, tie_word_embeddings=False, attn_config={"clip_qkv": 0.5}
    ),
}
