"""ELECTRA's generators."""

from transformers import AutoModelForMaskedLM, ElectraConfig

from tests.model.checkpoints.architectures.bert import SIZES

MODEL = AutoModelForMaskedLM

CONFIGS = {
    "narrow embeddings": ElectraConfig(**SIZES, embedding_size=12, layer_norm_eps=0.01),
    "untied, relu": ElectraConfig(**SIZES, embedding_size=24, tie_word_embeddings=False, hidden_act="relu"),
    "as wide as the stream": ElectraConfig(**SIZES | {"num_attention_heads": 2}, embedding_size=20, type_vocab_size=3),
}
