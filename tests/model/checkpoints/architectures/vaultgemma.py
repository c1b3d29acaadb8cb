"""VaultGemma."""

from transformers import VaultGemmaConfig

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "windows and caps": VaultGemmaConfig(
        **SIZES,
        pad_token_id=None,
        sliding_window=5,
        query_pre_attn_scalar=9,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    ),
    "no caps, untied": VaultGemmaConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        tie_word_embeddings=False,
        layer_types=["full_attention"] * 3,
        attention_bias=True,
    ),
    "other layers local": VaultGemmaConfig(
        **SIZES | {"num_key_value_heads": 5},
        pad_token_id=None,
        sliding_window=3,
        layer_types=["full_attention", "sliding_attention", "sliding_attention"],
        hidden_activation="silu",
    ),
}
