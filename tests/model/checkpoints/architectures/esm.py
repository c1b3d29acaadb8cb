"""ESM."""

from transformers import AutoModelForMaskedLM, EsmConfig

from tests.model.checkpoints.architectures import roberta
from tests.model.checkpoints.architectures.bert import SIZES

MODEL, first_position = AutoModelForMaskedLM, roberta.first_position
SPECIAL = {"pad_token_id": 1, "mask_token_id": 9}

CONFIGS = {
    "rotary, masked tokens dropped": EsmConfig(
        **SIZES, **SPECIAL, position_embedding_type="rotary", token_dropout=True, layer_norm_eps=0.01
    ),
    "positions, norm of embeddings": EsmConfig(**SIZES, **SPECIAL, emb_layer_norm_before=True, token_dropout=True),
    "rotary, untied, another base": EsmConfig(
        **SIZES, **SPECIAL, position_embedding_type="rotary", rope_theta=50.0, tie_word_embeddings=False
    ),
}
