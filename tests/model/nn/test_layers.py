"""Layers against torch's own, and cases worked out by hand."""

import math

import pytest
import torch
from torch.nn import functional as F

from headlight.model import TransformerConfig
from headlight.model.nn.blocks import Block
from headlight.model.nn.hooks import NO_TAP, Collect
from headlight.model.nn.layers.attention import Attention, attention_scale
from headlight.model.nn.layers.mlp import ACTIVATIONS, MLP, ROWS
from headlight.model.nn.layers.norms import LayerNorm, LayerNormPre, build_norm
from headlight.model.nn.layers.positions import place
from headlight.model.nn.layers.scores import ScoreRule
from tests.allocated import peak_bytes
from tests.model.oracles import TINY, random_model

CPU = torch.device("cpu")


def config(**settings: object) -> TransformerConfig:
    return TransformerConfig(**(TINY | settings))


def test_layer_norm_is_torch_s() -> None:
    x = torch.randn(2, 3, 12, generator=torch.Generator().manual_seed(0)) * 3 + 1
    norm = random_model().blocks[0].ln1
    assert isinstance(norm, LayerNorm)
    # Both divide sums of 12 float32 numbers, taken in another order.
    torch.testing.assert_close(norm(x, NO_TAP), F.layer_norm(x, (12,), norm.w, norm.b, 1e-5), rtol=1e-5, atol=1e-6)
    pre = build_norm(config(normalization_type="LNPre", eps=0.5))
    assert type(pre) is LayerNormPre
    torch.testing.assert_close(pre(x, NO_TAP), F.layer_norm(x, (12,), eps=0.5), rtol=1e-5, atol=1e-6)


def test_no_normalisation_leaves_the_stream_alone() -> None:
    x = torch.randn(1, 2, 12)
    assert build_norm(config(normalization_type=None))(x, NO_TAP) is x


def test_attention_is_torch_s() -> None:
    attn = random_model().blocks[0].attn
    assert isinstance(attn, Attention)
    x = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
    q, k, v = (
        torch.einsum("bpm,hmd->bhpd", x, weight) + bias[:, None]
        for weight, bias in [(attn.W_Q, attn.b_Q), (attn.W_K, attn.b_K), (attn.W_V, attn.b_V)]
    )
    z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    expected = torch.einsum("bhpd,hdm->bpm", z, attn.W_O) + attn.b_O
    positions = place("causal", None, 6, CPU)
    torch.testing.assert_close(attn(x, positions, NO_TAP), expected, rtol=1e-5, atol=1e-5)  # another order of sums


def test_scores_are_minus_infinity_where_the_key_is_not_visible() -> None:
    q, k = torch.full((1, 2, 1, 4), 2.0), torch.full((1, 2, 1, 4), 3.0)
    scores = ScoreRule(lambda rows: place("causal", None, 2, CPU).mask, 2.0).scores(q, k)
    assert scores[0, 0].tolist() == [[12.0, -math.inf], [12.0, 12.0]]  # 4 * 2 * 3 / 2


def test_a_mask_by_hand() -> None:
    assert place("causal", None, 3, CPU).mask[0, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [True] * 3,
    ]
    assert bool(place("bidirectional", None, 3, CPU).mask.all())
    padded = place("bidirectional", torch.tensor([[False, True]]), 2, CPU).mask
    assert padded[0, 0].tolist() == [[False, True], [False, True]]


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("rows", [None, slice(2, 5), [6, 1]])
@pytest.mark.parametrize("is_padded", [False, True])
def test_rows_of_a_mask_are_built_alone(window: int | None, rows: list[int] | slice | None, is_padded: bool) -> None:
    real = torch.tensor([[False, True, True, True, True, True, True]]) if is_padded else None
    positions, at = place("causal", real, 7, CPU), torch.arange(7)
    sees = (at <= at[:, None]) & (at[:, None] - at < (window or 7)) & (True if real is None else real[0])
    if is_padded and window:  # both padding and the first token have position 0, so that nothing changes by that
        sees = (at <= at[:, None]) & (at[:, None].clamp(1) - at.clamp(1) < window) & real[0]
    assert torch.equal(positions.mask_of(window, rows)[0, 0], sees if rows is None else sees[rows])


def test_a_pass_that_looks_at_no_pattern_builds_no_mask() -> None:
    n_tokens = 2048
    model = random_model(n_ctx=n_tokens)
    tokens = torch.randint(model.cfg.d_vocab, (1, n_tokens), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert peak_bytes(lambda: model(tokens, stop_at_layer=model.cfg.n_layers)) < n_tokens**2  # a byte for each cell


def test_a_pattern_row_without_visible_keys_is_zero() -> None:
    visible = torch.tensor([[[[False, False], [True, False]]]])
    scores = torch.zeros(1, 1, 2, 2).masked_fill(~visible, -math.inf)
    assert ScoreRule(lambda rows: visible, 1.0).pattern(scores)[0, 0].tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_scores_are_divided_by_the_layer_s_number_when_asked() -> None:
    assert attention_scale(config(d_head=16), 3) == 4.0
    assert attention_scale(config(d_head=16, scale_attn_by_inverse_layer_idx=True), 3) == 16.0


@pytest.mark.parametrize(
    ("name", "at_one"),
    [
        ("relu", 1.0),
        ("gelu", 0.5 * (1 + math.erf(1 / math.sqrt(2)))),
        ("gelu_new", 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (1 + 0.044715)))),
        ("silu", 1 / (1 + math.exp(-1))),
    ],
)
def test_activation_functions_by_hand(name: str, at_one: float) -> None:
    assert ACTIVATIONS[name](torch.tensor(1.0)).item() == pytest.approx(at_one, rel=1e-6)  # float32


@pytest.mark.parametrize("is_gated", [False, True])
def test_neurons_that_nobody_looks_at_are_computed_some_tokens_at_a_time(is_gated: bool) -> None:
    n_tokens, d_mlp = 8 * ROWS + 5, 64
    mlp = random_model(gated_mlp=is_gated, d_mlp=d_mlp).blocks[0].mlp
    assert isinstance(mlp, MLP)
    x = torch.randn(1, n_tokens, 12, generator=torch.Generator().manual_seed(0))
    pre = x @ (mlp.W_gate if is_gated else mlp.W_in) + (mlp.b_gate if is_gated else mlp.b_in)
    post = F.gelu(pre, approximate="tanh") * (x @ mlp.W_in + mlp.b_in if is_gated else 1)
    expected, watching = post @ mlp.W_out + mlp.b_out, Collect(["hook_post"])
    with torch.inference_mode():
        assert peak_bytes(lambda: mlp(x, NO_TAP)) < 4 * n_tokens * d_mlp  # one number of each neuron
        torch.testing.assert_close(mlp(x, NO_TAP), expected, rtol=1e-5, atol=1e-5)  # another order of sums
        torch.testing.assert_close(mlp(x, watching), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(watching.kept["hook_post"], post, rtol=1e-5, atol=1e-5)


def test_per_head_matrices_are_views_of_one_plain_matrix() -> None:
    """The einsum over heads is one matrix product without a copy only where heads' columns lie side by side."""
    attn = Block(config(), 0).attn
    for weight in (attn.W_Q, attn.W_K, attn.W_V):
        assert weight.transpose(0, 1).is_contiguous()
        assert weight.transpose(0, 1).flatten(1).data_ptr() == weight.data_ptr()
    assert attn.W_O.is_contiguous()
