"""Residual-stream analyses against loops, hand-made vectors and sums that must agree."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from headlight.model.attention.residual import (
    decompose,
    decomposition_residual,
    layer_cosine,
    stream_change,
    stream_norms,
)
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer


def random_streams(n_layers: int, n_pos: int, d_model: int = 8) -> torch.Tensor:
    return torch.randn(n_layers, n_pos, d_model, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_the_change_of_a_stream_is_a_share_of_its_length() -> None:
    resid = [torch.tensor([[3.0, 4], [0, 2]]), torch.tensor([[6.0, 8], [5, 12]])]
    edited = [torch.tensor([[3.0, 4], [0, 1]]), torch.tensor([[6.0, -8], [10, 24]])]
    measure = stream_change(resid, edited)
    torch.testing.assert_close(measure.values, torch.tensor([[0, 0.5], [1.6, 1.0]]))


def test_stream_norms_of_a_list_and_of_a_stack() -> None:
    resid = [torch.tensor([[3.0, 4], [0, 0]]), torch.tensor([[6.0, 8], [5, 12]])]
    measure = stream_norms(resid)
    assert (measure.unit, measure.axes) == ("L2 norm", ("layer", "pos"))
    assert measure.values.tolist() == [[5, 0], [10, 13]]
    assert torch.equal(stream_norms(torch.stack(resid)).values, measure.values)


def test_layer_cosine_is_the_mean_over_positions_of_every_pair() -> None:
    resid = random_streams(4, 131)  # more positions than one tile holds
    measure = layer_cosine(resid)
    assert (measure.unit, measure.axes) == ("cosine", ("layer", "other layer"))
    for a in range(4):
        for b in range(4):
            cosines = [x @ y / (x.norm() * y.norm()) for x, y in zip(resid[a], resid[b], strict=True)]
            torch.testing.assert_close(measure.values[a, b], torch.stack(cosines).mean())


def test_a_stream_of_zeros_has_cosine_zero_not_nan() -> None:
    resid = torch.stack([torch.zeros(2, 3), torch.ones(2, 3)])
    torch.testing.assert_close(layer_cosine(resid).values, torch.tensor([[0.0, 0], [0, 1]]))


def test_decompose_by_hand_with_components_that_cancel() -> None:
    final = torch.tensor([[4.0, 0]])
    parts = {"embed": [[6.0, 5]], "attn": [[-2.0, -5]], "mlp": [[0.0, 0]]}
    result = decompose({name: torch.tensor(rows) for name, rows in parts.items()}, final)
    assert result.components == ("embed", "attn", "mlp")
    assert (result.norms.unit, result.shares.unit) == ("L2 norm", "share")
    assert result.norms.axes == result.shares.axes == ("component", "pos")
    assert result.shares.values.tolist() == [[1.5], [-0.5], [0]]
    torch.testing.assert_close(result.norms.values, torch.tensor([[61**0.5], [29**0.5], [0]]))


@given(n_components=st.integers(1, 6), n_pos=st.integers(1, 5))
def test_shares_of_all_components_sum_to_one(n_components: int, n_pos: int) -> None:
    outputs = random_streams(n_components, n_pos)
    final = outputs.sum(dim=0)
    shares = decompose({str(i): output for i, output in enumerate(outputs)}, final).shares.values
    # float64 rounding, enlarged where components cancel; with 1 to 6 random ones of this seed by less than 1e4.
    torch.testing.assert_close(shares.sum(dim=0), torch.ones(n_pos).double(), atol=1e-12, rtol=0)


def test_decomposition_residual_is_the_largest_entry_that_no_component_explains() -> None:
    outputs = torch.tensor([[[1.0, 2], [3, 4]], [[10, 20], [30, 40]]])
    final = torch.tensor([[11.0, 22], [33, 44]])
    measure = decomposition_residual(iter(outputs), final)
    assert (measure.unit, measure.axes) == ("activation", ())
    assert measure.values == 0
    assert decomposition_residual(outputs, final + torch.tensor([[0.0, 0.5], [-2, 1]])).values == 2
    assert decomposition_residual(outputs[:1], final).values == 40


def test_the_components_of_a_real_run_make_up_all_of_its_final_residual() -> None:
    cfg = TransformerConfig(n_layers=2, d_model=12, n_ctx=7, n_heads=3, d_head=5, d_vocab=11)
    model = Transformer(cfg)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(parameter.numel()))
        _, cache = model.double().run_with_cache(torch.arange(7)[None])
    names = [f"blocks.{layer}.hook_{part}" for layer in range(2) for part in ("attn_out", "mlp_out")]
    outputs = {name: cache[name][0] for name in ["hook_embed", "hook_pos_embed", *names]}
    shares = decompose(outputs, cache["resid_post", -1][0]).shares.values
    # float64 rounding over six components.
    torch.testing.assert_close(shares.sum(dim=0), torch.ones(7).double(), atol=1e-12, rtol=0)
    final = cache["resid_post", -1][0]
    # The same rounding, of numbers as large as the stream's.
    assert decomposition_residual(outputs.values(), final).values < 1e-12 * final.abs().max()
