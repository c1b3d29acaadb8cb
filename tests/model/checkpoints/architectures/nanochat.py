"""nanochat."""

from transformers import NanoChatConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "grouped": NanoChatConfig(**SIZES, pad_token_id=None, final_logit_softcapping=3.0),
    "biases, tied, no cap": NanoChatConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        attention_bias=True,
        tie_word_embeddings=True,
        final_logit_softcapping=None,
        rms_norm_eps=0.01,
    ),
    "another activation": NanoChatConfig(
        **SIZES | {"num_key_value_heads": 5},
        pad_token_id=None,
        hidden_act="gelu",
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
