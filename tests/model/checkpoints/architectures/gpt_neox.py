"""GPT-NeoX."""

from transformers import GPTNeoXConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 24,
    "intermediate_size": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "max_position_embeddings": 32,
}

CONFIGS = {
    "parallel": GPTNeoXConfig(**SIZES, layer_norm_eps=0.01),
    "one after the other": GPTNeoXConfig(
        **SIZES, use_parallel_residual=False, rotary_pct=0.5, rotary_emb_base=500, hidden_act="gelu_new"
    ),
    "no biases, tied": GPTNeoXConfig(**SIZES, attention_bias=False, rotary_pct=1.0, tie_word_embeddings=True),
    "linear": GPTNeoXConfig(**SIZES, rope_scaling={"rope_type": "linear", "factor": 3.0}),
}
