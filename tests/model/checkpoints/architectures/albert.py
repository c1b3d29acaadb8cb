"""ALBERT."""

from transformers import AlbertConfig, AutoModelForMaskedLM

from tests.model.checkpoints.architectures.bert import SIZES

MODEL = AutoModelForMaskedLM

CONFIGS = {
    "one layer's weights for all": AlbertConfig(**SIZES, embedding_size=12, layer_norm_eps=0.01),
    "two groups, untied, relu": AlbertConfig(
        **SIZES, embedding_size=24, num_hidden_groups=2, tie_word_embeddings=False, hidden_act="relu"
    ),
    "layers in a group, as wide as the stream": AlbertConfig(
        **SIZES | {"num_attention_heads": 2}, embedding_size=20, inner_group_num=2, type_vocab_size=3
    ),
}
