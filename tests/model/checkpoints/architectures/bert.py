"""BERT."""

from transformers import AutoModelForMaskedLM, BertConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 20,
    "intermediate_size": 31,
    "num_hidden_layers": 3,
    "num_attention_heads": 5,
    "max_position_embeddings": 32,
}
MODEL = AutoModelForMaskedLM

CONFIGS = {
    "tied": BertConfig(**SIZES, layer_norm_eps=0.01),
    "untied, relu": BertConfig(**SIZES, tie_word_embeddings=False, hidden_act="relu"),
    "four token types": BertConfig(**SIZES | {"num_attention_heads": 2}, type_vocab_size=4, pad_token_id=5),
}
