"""Circuits against the whole matrix of a vocabulary that is small enough to have one."""

import numpy as np
import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.runs.linear import norm_before, norm_of
from headlight.model.weights.qk_ov_circuits import (
    Circuit,
    Pairs,
    balanced,
    difference,
    directions,
    entries,
    ov_circuit,
    partners,
    qk_circuit,
)
from tests.model.oracles import random_model

# Sums of a dozen products of size 1 in float32, in another order than numpy's in float64.
ATOL, RTOL = 2e-4, 1e-5


def head(model: Transformer, layer: int, index: int) -> dict[str, Tensor]:
    """A head's matrices."""
    attn = model.blocks[layer].get_submodule("attn")
    return {name: attn.get_parameter(name)[index].detach() for name in ("W_Q", "W_K", "W_V", "W_O")}


def gains(model: Transformer, layer: int) -> tuple[Tensor, Tensor]:
    """The gain of a layer's first LayerNorm and of the last one."""
    return model.get_parameter(f"blocks.{layer}.ln1.w").detach(), model.get_parameter("ln_final.w").detach()


def both(model: Transformer, layer: int, index: int, folded: bool) -> tuple[Circuit, Circuit]:
    """The circuits of a head."""
    W, norms = head(model, layer, index), (norm_before(model, layer), norm_of(model.ln_final))
    before, after = norms if folded else (None, None)
    W_E, W_U = model.embed.W_E.detach(), model.unembed.W_U.detach()
    return (
        qk_circuit(W_E, W["W_Q"], W["W_K"], 5**0.5, before),
        ov_circuit(W_E, W["W_V"], W["W_O"], W_U, before, after),
    )


def explicit(model: Transformer, layer: int, index: int, folded: bool) -> tuple[np.ndarray, np.ndarray]:
    """The same multiplied out by numpy in float64, LayerNorm being centring and a diagonal matrix of gains."""
    W = {name: each.double().numpy() for name, each in head(model, layer, index).items()}
    W_E, W_U = (each.detach().double().numpy() for each in (model.embed.W_E, model.unembed.W_U))
    read = wrote = np.eye(model.cfg.d_model)
    if folded:
        centring = np.eye(model.cfg.d_model) - 1 / model.cfg.d_model
        read, wrote = (centring @ np.diag(gain.double().numpy()) for gain in gains(model, layer))
    normed = W_E @ read
    return normed @ W["W_Q"] @ (normed @ W["W_K"]).T / 5**0.5, normed @ W["W_V"] @ W["W_O"] @ wrote @ W_U


def table(pairs: Pairs) -> list[tuple[int, int, float]]:
    """Row, column and value of each pair."""
    columns = (each.values.tolist() for each in (pairs.rows, pairs.columns, pairs.values))
    return list(zip(*columns, strict=True))


def largest(matrix: np.ndarray, k: int) -> list[tuple[int, int, float]]:
    """The k largest entries, by sorting all."""
    order = np.argsort(-matrix, axis=None)[:k]
    return [(*divmod(int(at), matrix.shape[1]), float(matrix.flat[at])) for at in order]


def assert_same(actual: list[tuple[int, int, float]], expected: list[tuple[int, int, float]]) -> None:
    """The same pairs in the same order, with values that differ by rounding."""
    assert [pair[:2] for pair in actual] == [pair[:2] for pair in expected]
    np.testing.assert_allclose([pair[2] for pair in actual], [pair[2] for pair in expected], atol=ATOL, rtol=RTOL)


def test_the_circuits_say_what_they_hold() -> None:
    qk, ov = both(random_model(), 0, 0, folded=True)
    assert (qk.unit, qk.axes, ov.unit, ov.axes) == (
        "score",
        ("query token", "key token"),
        "logits",
        ("source token", "promoted token"),
    )
    partner_pairs = partners(ov, 2, 3)
    assert (partner_pairs.rows.unit, partner_pairs.columns.name, partner_pairs.values.unit) == (
        "token id",
        "promoted token",
        "logits",
    )


def test_the_difference_of_two_models_circuits_is_that_of_their_matrices() -> None:
    a, b = random_model(d_vocab=19), random_model(seed=1, d_vocab=17, d_head=3)
    for one, other, first, second in zip(
        both(a, 0, 1, True), both(b, 0, 1, True), explicit(a, 0, 1, True), explicit(b, 0, 1, True), strict=True
    ):
        circuit = difference(one, other)
        expected = second - first[: len(second), : second.shape[1]]
        np.testing.assert_allclose(circuit.A @ circuit.B, expected, atol=ATOL, rtol=RTOL)
        assert (circuit.unit, circuit.axes) == (one.unit, one.axes)
        at = torch.tensor([3, 0, 16]), torch.tensor([1, 16, 4])
        np.testing.assert_allclose(entries(circuit, *at).values, expected[at], atol=ATOL, rtol=RTOL)


@pytest.mark.parametrize("settings", [{}, {"d_vocab_out": 7}])
def test_the_partners_of_a_token_are_its_row_or_its_column_sorted(settings: dict[str, int]) -> None:
    model = random_model(**settings)
    for circuit, matrix in zip(both(model, 1, 1, True), explicit(model, 1, 1, True), strict=True):
        row = [(4, j, value) for _, j, value in largest(matrix[4:5], 5)]
        assert_same(table(partners(circuit, 4, 5)), row)
        column = [(4, i, value) for _, i, value in largest(matrix[:, 4:5].T, 5)]
        assert_same(table(partners(circuit.T, 4, 5)), column)
        lowest = [(4, j, -value) for _, j, value in largest(-matrix[4:5], 5)]
        assert_same(table(partners(circuit, 4, 5, lowest=True)), lowest)
    assert partners(both(model, 1, 1, True)[0].T, 4, 2).rows.name == "key token"


@pytest.mark.parametrize("folded", [False, True])
def test_the_strengths_are_numpys_singular_values_and_the_directions_add_up_to_the_matrix(folded: bool) -> None:
    model = random_model()
    for circuit, matrix in zip(both(model, 1, 0, folded), explicit(model, 1, 0, folded), strict=True):
        svd = directions(circuit, 99, len(matrix))
        singular = np.linalg.svd(matrix, compute_uv=False)
        np.testing.assert_allclose(svd.strengths.values, singular[:5], rtol=1e-5)  # rank d_head = 5; float32 factors
        np.testing.assert_allclose(svd.shares.values, singular[:5] ** 2 / (matrix**2).sum(), rtol=1e-5)
        left, right = (loads(end.tokens.values, end.loads.values) for end in (svd.rows, svd.columns))
        np.testing.assert_allclose((left * svd.strengths.values.numpy()) @ right.T, matrix, atol=ATOL, rtol=RTOL)


def loads(tokens: Tensor, values: Tensor) -> np.ndarray:
    """All tokens' loads [token, direction] from an end at which all stand."""
    assert torch.equal(values[:, 0].gather(1, tokens[:, 0].argsort()), values[:, 1].gather(1, tokens[:, 1].argsort()))
    return values[:, 0].gather(1, tokens[:, 0].argsort()).T.numpy()


def test_the_ends_of_a_direction_are_its_outermost_tokens_and_its_longest_load_is_up() -> None:
    circuit = both(random_model(), 0, 1, folded=True)[1]
    svd = directions(circuit, 3, 4)
    every = directions(circuit, 3, 19)
    assert svd.rows.tokens.axes == ("direction", "end", "token")
    for end in (svd.rows, svd.columns):
        up, down = end.loads.values[:, 0], end.loads.values[:, 1]
        assert (up.diff(dim=-1) <= 0).all()
        assert (down.diff(dim=-1) >= 0).all()
    assert torch.equal(every.rows.tokens.values[:, 0, :4], svd.rows.tokens.values[:, 0])
    assert torch.equal(every.rows.tokens.values[:, 0].flip(-1)[:, :4], svd.rows.tokens.values[:, 1])
    assert (svd.rows.loads.values[:, 0, 0] >= -svd.rows.loads.values[:, 1, 0]).all()


def test_balanced_factors_make_the_same_matrix() -> None:
    for circuit in both(random_model(), 0, 0, folded=True):
        other = balanced(circuit)
        torch.testing.assert_close(other.A @ other.B, circuit.A @ circuit.B, atol=ATOL, rtol=RTOL)
        torch.testing.assert_close(other.A.norm(dim=0), other.B.norm(dim=1))
