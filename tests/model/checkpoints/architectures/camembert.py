"""CamemBERT."""

from transformers import AutoModelForMaskedLM, CamembertConfig

from tests.model.checkpoints.architectures import roberta
from tests.model.checkpoints.architectures.bert import SIZES

MODEL, first_position = AutoModelForMaskedLM, roberta.first_position

CONFIGS = {
    "tied": CamembertConfig(**SIZES, layer_norm_eps=0.01),
    "untied, one token type": CamembertConfig(**SIZES, tie_word_embeddings=False, type_vocab_size=1),
    "another padding, relu": CamembertConfig(**SIZES, pad_token_id=7, hidden_act="relu"),
}
