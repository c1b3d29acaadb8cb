"""ModernBERT."""

from transformers import AutoModelForMaskedLM, ModernBertConfig

from tests.model.checkpoints.architectures.bert import SIZES

MODEL = AutoModelForMaskedLM
# Bases so small that turned queries and keys tell one base from the other within 14 tokens.
FIVE = SIZES | {"num_hidden_layers": 5, "pad_token_id": 0, "global_rope_theta": 300.0, "local_rope_theta": 20.0}

CONFIGS = {
    "windows": ModernBertConfig(**FIVE, local_attention=6),
    "biases, untied": ModernBertConfig(
        **FIVE | {"pad_token_id": 5},
        local_attention=5,
        attention_bias=True,
        mlp_bias=True,
        norm_bias=True,
        classifier_bias=True,
        tie_word_embeddings=False,
    ),
    "no windows": ModernBertConfig(**FIVE | {"num_hidden_layers": 2}, global_attn_every_n_layers=1),
    "every second layer global, no decoder bias": ModernBertConfig(
        **FIVE,
        local_attention=2,
        global_attn_every_n_layers=2,
        decoder_bias=False,
        hidden_activation="silu",
        classifier_activation="relu",
        norm_eps=0.01,
    ),
}
