"""CodeGen."""

from transformers import CodeGenConfig

SIZES = {"vocab_size": 23, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 32}
COPIED = r".*\.attn\.W_[QKV]"  # a role's heads are not evenly strided

CONFIGS = {
    "half of each head": CodeGenConfig(**SIZES, pad_token_id=None, rotary_dim=4, n_inner=31),
    "two heads in a group": CodeGenConfig(
        **SIZES | {"n_head": 8}, pad_token_id=None, rotary_dim=2, layer_norm_epsilon=0.01
    ),
    "tied, whole heads": CodeGenConfig(
        **SIZES, pad_token_id=None, rotary_dim=8, tie_word_embeddings=True, activation_function="gelu_fast"
    ),
}
