"""BioGPT."""

from transformers import BioGptConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 20,
    "intermediate_size": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 32,
}

CONFIGS = {
    "tied": BioGptConfig(**SIZES, pad_token_id=None),
    "untied, not scaled": BioGptConfig(
        **SIZES | {"num_attention_heads": 5},
        pad_token_id=None,
        tie_word_embeddings=False,
        scale_embedding=False,
        hidden_act="relu",
    ),
    "one head": BioGptConfig(**SIZES | {"num_attention_heads": 1}, pad_token_id=None, hidden_act="gelu_new"),
}
