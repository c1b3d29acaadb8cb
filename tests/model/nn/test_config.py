"""What a config fills in, and what it refuses."""

import math

import pytest
import torch

from headlight.model import TransformerConfig
from headlight.model.base.errors import ConfigError
from tests.model.oracles import TINY


def test_what_follows_from_other_sizes_is_filled_in() -> None:
    cfg = TransformerConfig(n_layers=1, d_model=8, n_ctx=4, n_heads=2, d_head=9, d_vocab=5)
    assert (cfg.d_mlp, cfg.d_vocab_out, cfg.attn_scale) == (32, 5, 3.0)
    assert (
        TransformerConfig(n_layers=1, d_model=8, n_ctx=4, n_heads=2, d_head=9, d_vocab=5, attn_only=True).d_mlp is None
    )


def test_what_is_given_is_kept() -> None:
    cfg = TransformerConfig(**(TINY | {"d_mlp": 3, "d_vocab_out": 2, "attn_scale": 1.0}))
    assert (cfg.d_mlp, cfg.d_vocab_out, cfg.attn_scale) == (3, 2, 1.0)


def test_a_number_that_came_without_a_point_is_computed_with_all_the_same() -> None:
    """Tensors take no integer beyond 64 bits, as config.json may hold one."""
    eps = TransformerConfig(**(TINY | {"eps": 10**30})).eps
    assert torch.ones(()) + eps == 1e30


@pytest.mark.parametrize(
    "name", ["n_layers", "d_model", "n_ctx", "n_heads", "d_head", "d_vocab", "d_mlp", "d_vocab_out"]
)
@pytest.mark.parametrize("size", [0, -4, 1.5, True, "7", [1], math.inf, 10**400])
@pytest.mark.usefixtures("unchecked")
def test_a_size_that_is_no_positive_whole_number_is_refused(name: str, size: object) -> None:
    with pytest.raises(ConfigError, match=f"{name} is .* whole number of at least 1"):
        TransformerConfig(**(TINY | {name: size}))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("act_fn", "tanh", "'relu', 'gelu', 'gelu_new', 'silu'"),
        ("normalization_type", "BatchNorm", "'LN', 'LNPre', 'RMS', 'RMSPre', None"),
        ("attention_dir", "backwards", "'causal', 'bidirectional'"),
        ("attn_only", "yes", "True, False"),
        ("tie_word_embeddings", None, "True, False"),
        ("eps", 0.0, "greater than 0"),
        ("eps", math.nan, "greater than 0"),
        ("eps", "small", "greater than 0"),
        ("eps", 10**400, "greater than 0"),
        ("attn_scale", math.inf, "greater than 0"),
        ("attn_scale", -1.0, "greater than 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_setting_out_of_range_is_refused_with_what_it_can_be(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is .*{message}"):
        TransformerConfig(**(TINY | {name: value}))


def test_tied_embeddings_need_one_vocabulary() -> None:
    with pytest.raises(ConfigError, match="d_vocab_out = d_vocab, but they are 7 and 19"):
        TransformerConfig(**TINY, d_vocab_out=7, tie_word_embeddings=True)
