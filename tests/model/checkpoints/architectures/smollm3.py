"""SmolLM3."""

from transformers import SmolLM3Config

from tests.model.checkpoints.architectures.llama import SIZES

CONFIGS = {
    "one without positions": SmolLM3Config(
        **SIZES, pad_token_id=None, no_rope_layer_interval=2, tie_word_embeddings=False
    ),
    "those within a window": SmolLM3Config(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 2},
        pad_token_id=None,
        no_rope_layers=[0, 1, 0],
        use_sliding_window=True,
        sliding_window=4,
    ),
    "biases": SmolLM3Config(
        **SIZES | {"num_key_value_heads": 5},
        pad_token_id=None,
        no_rope_layers=[1, 1, 0],
        attention_bias=True,
        mlp_bias=True,
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0},
    ),
}
