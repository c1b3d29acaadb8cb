"""RoBERTa."""

from transformers import AutoModelForMaskedLM, RobertaConfig

from tests.model.checkpoints.architectures.bert import SIZES

MODEL = AutoModelForMaskedLM


def first_position(config: RobertaConfig) -> int:
    """Positions are counted from behind the padding's id."""
    return config.pad_token_id + 1


CONFIGS = {
    "tied": RobertaConfig(**SIZES, layer_norm_eps=0.01),
    "untied, one token type": RobertaConfig(**SIZES, tie_word_embeddings=False, type_vocab_size=1),
    "another padding, relu": RobertaConfig(**SIZES, pad_token_id=7, hidden_act="relu"),
}
