"""MPNet."""

from transformers import AutoModelForMaskedLM, MPNetConfig

from tests.model.checkpoints.architectures.bert import SIZES

MODEL = AutoModelForMaskedLM


def first_position(config: MPNetConfig) -> int:
    """Positions are counted from 2."""
    return 2


CONFIGS = {
    "tied": MPNetConfig(**SIZES, layer_norm_eps=0.01),
    "untied": MPNetConfig(**SIZES, tie_word_embeddings=False),
    "relu, two heads": MPNetConfig(**SIZES | {"num_attention_heads": 2}, hidden_act="relu"),
}
