"""What the page *Weights* finds in a model, against the whole matrices in numpy."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headlight.app.pages.weights import analysis, weight_tables
from headlight.app.pages.weights.analysis import CircuitKey, circuit_of, is_done, known_pairs, pieces_of, seconds
from headlight.app.runs import models
from headlight.model import Transformer
from headlight.model.measure import Measure
from headlight.model.runs.edits import Head
from headlight.model.weights.composition import random_composition
from headlight.model.weights.head_circuit import N_DIRECTIONS, CircuitKind, Composed, compositions
from headlight.model.weights.pair_search import PairSearch

HEAD = (1, 2)


def whole(model: Transformer, kind: str) -> np.ndarray:
    """A head's matrix from tokens to tokens, LayerNorm as centring and gain, multiplied out in float64."""

    def array(name: str) -> np.ndarray:
        return model.get_parameter(name).detach().double().numpy()

    layer, head = HEAD
    centring = np.eye(model.cfg.d_model) - 1 / model.cfg.d_model
    W_Q, W_K, W_V, W_O = (array(f"blocks.{layer}.attn.{name}")[head] for name in ("W_Q", "W_K", "W_V", "W_O"))
    read = array("embed.W_E") @ centring @ np.diag(array(f"blocks.{layer}.ln1.w"))
    if kind == "qk":
        return read @ W_Q @ (read @ W_K).T / model.cfg.d_head**0.5
    W_U = model.unembed.W_U.detach().double().numpy()
    return read @ W_V @ W_O @ centring @ np.diag(array("ln_final.w")) @ W_U


def circuit_key(folder: str, kind: CircuitKind, head: Head = HEAD, less: str = "") -> CircuitKey:
    """A head's circuit."""
    return CircuitKey(folder, head, kind, less)


def near(matrix: np.ndarray) -> float:
    """Products of float32 factors that were balanced: 1e-6 of the largest entries."""
    return 1e-5 * float(np.abs(matrix).max())


def highest(matrix: np.ndarray) -> np.ndarray:
    """The twenty largest entries, which are found without sorting the others."""
    return np.sort(np.partition(matrix, -20, axis=None)[-20:])[::-1]


@pytest.mark.parametrize("kind", ["qk", "ov"])
def test_pairs_partners_and_strengths_are_those_of_the_whole_matrix(kind: CircuitKind, folder: str) -> None:
    matrix, key = whole(models.open_model(folder), kind), circuit_key(folder, kind)
    pairs = circuit_of(key).pairs()
    np.testing.assert_allclose(pairs.highest.values.values, highest(matrix), atol=near(matrix))
    np.testing.assert_allclose(pairs.lowest.values.values, -highest(-matrix), atol=near(matrix))
    at = pairs.highest.rows.values.numpy(), pairs.highest.columns.values.numpy()
    np.testing.assert_allclose(matrix[at], pairs.highest.values.values, atol=near(matrix))
    row, column = circuit_of(key).partners(7)
    np.testing.assert_allclose(row.highest.values.values, np.sort(matrix[7])[::-1][:10], atol=near(matrix))
    np.testing.assert_allclose(column.lowest.values.values, np.sort(matrix[:, 7])[:10], atol=near(matrix))
    rank = 2 * N_DIRECTIONS  # at most that of the factors, so that nothing of the matrix is left out
    assert models.open_model(folder).cfg.d_head <= rank
    _, found_strengths, _ = torch.svd_lowrank(torch.from_numpy(matrix), q=rank)
    strengths = found_strengths.numpy()[:N_DIRECTIONS]
    np.testing.assert_allclose(circuit_of(key).directions().strengths.values, strengths[strengths > 1e-9], rtol=1e-4)


@pytest.mark.parametrize("kind", ["qk", "ov"])
def test_of_two_models_the_difference_of_their_matrices_is_searched(kind: CircuitKind, folder: str) -> None:
    first, second = (whole(models.open_model(name), kind) for name in (folder, "mini"))
    matrix, key = second - first, circuit_key("mini", kind, less=folder)
    pairs = circuit_of(key).pairs()
    np.testing.assert_allclose(pairs.highest.values.values, highest(matrix), atol=near(matrix))
    at = pairs.lowest.rows.values.numpy(), pairs.lowest.columns.values.numpy()
    np.testing.assert_allclose(pairs.lowest.values.values, matrix[at], atol=near(matrix))
    for own, expected in ((circuit_key(folder, kind), first), (circuit_key("mini", kind), second), (key, matrix)):
        np.testing.assert_allclose(circuit_of(own).entries(pairs.lowest).values, expected[at], atol=near(matrix))
    strengths, shares = (
        each.values.double() for each in vars(circuit_of(key).directions()).values() if isinstance(each, Measure)
    )
    np.testing.assert_allclose(strengths.square() / shares, np.linalg.norm(matrix) ** 2, rtol=1e-4)
    # Of the rank of both heads together or less, so that so many random columns span it.
    columns = np.random.default_rng(0).standard_normal((len(matrix), 64))
    spanned, _ = np.linalg.qr(matrix @ columns)
    np.testing.assert_allclose(strengths[0], np.linalg.norm(spanned.T @ matrix, 2), rtol=1e-3)


def test_a_model_less_itself_is_nothing(folder: str) -> None:
    assert float(circuit_of(circuit_key(folder, "ov", less=folder)).directions().strengths.values[0]) < 1e-9


def test_pairs_are_known_once_every_piece_was_looked_at_in_whatever_order(folder: str) -> None:
    key = circuit_key(folder, "ov", (0, 3))
    pieces = pieces_of(key)
    assert len(pieces) == 2  # 4096 rows in blocks of 256, eight at a time
    for piece in pieces:
        assert known_pairs(key) is None
        assert not is_done(piece)
        analysis.look(piece)
    pairs = known_pairs(key)
    assert pairs is not None
    last = circuit_key(folder, "ov", (0, 2))
    analysis.look(pieces_of(last)[-1])  # brings along what comes before
    assert all(map(is_done, pieces_of(last)))


def test_what_was_found_is_kept(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = circuit_key(folder, "ov", (0, 4))
    pairs = circuit_of(key).pairs()
    monkeypatch.setattr(PairSearch, "look", lambda *_: pytest.fail("searched again"))
    assert torch.equal(circuit_of(key).pairs().highest.rows.values, pairs.highest.rows.values)
    assert circuit_of(key).matrix is circuit_of(key).matrix


def test_the_estimate_is_of_a_search_that_leaves_nothing_out() -> None:
    key = circuit_key("mini", "qk")
    assert seconds(pieces_of(key)) == pytest.approx(2 * 4096**2 * (32 + 2 * 18) / 4e10)
    assert seconds(pieces_of(key)[1:]) == pytest.approx(4096**2 * (32 + 2 * 18) / 4e10)
    assert seconds(()) == 0


def test_a_head_composes_with_the_layers_before_it_alone(folder: str) -> None:
    composition = compositions(models.open_model(folder), (2, 1))
    assert {each.values.shape for each in composition.scores.values()} == {(2, 5)}
    assert all(0 <= float(score) <= 1 for each in composition.scores.values() for score in each.values.flatten())
    assert compositions(models.open_model(folder), (0, 1)).scores["key"].values.shape == (0, 5)


def test_a_head_that_writes_nothing_is_not_composed_with() -> None:
    """The hand-made circuits have such heads: their scores are no numbers, and nothing on the page trips over them."""
    nothing, something = torch.full((1, 2), torch.nan), torch.tensor([[torch.nan, 0.5]])
    baseline = random_composition("key", 8, 2, 2)
    for values, farthest_is, says in ((nothing, 0.0, "are zero"), (something, 0.5, "Most: L0H1 with 0.5")):
        score = Measure("composition", "share", ("layer", "head"), values)
        composition = Composed({"key": score}, {"key": baseline})
        expected = farthest_is and farthest_is - float(baseline.mean.values)
        above = weight_tables.above_random({"A": composition})
        assert weight_tables.farthest(above) == pytest.approx(expected)
        assert says in weight_tables.spelled_composition(composition, "key")


def test_the_spread_of_random_heads_does_not_read_as_zero() -> None:
    def measure(value: float) -> Measure:
        return Measure("composition", "share", (), torch.tensor(value))

    score = Measure("composition", "share", ("layer", "head"), torch.tensor([[0.25]]))
    for sd, says in ((0.002, "0.042 ± 0.002"), (0.00031, "0.0420 ± 0.0003"), (0.0, "0.042 ± 0.000")):
        random = replace(random_composition("key", 8, 2, 2), mean=measure(0.042), sd=measure(sd))
        composition = Composed({"key": score}, {"key": random})
        assert f"Random heads: {says} (mean" in weight_tables.spelled_composition(composition, "key")


def test_the_maps_of_two_models_are_joined_by_their_difference() -> None:
    def composition(*scores: float) -> Composed:
        values = torch.tensor([scores])
        baseline = random_composition("key", 8, 2, 2)
        return Composed({"key": Measure("composition", "share", ("layer", "head"), values)}, {"key": baseline})

    above = weight_tables.above_random({"A": composition(0.1, 0.2, torch.nan), "B": composition(0.5, 0.1)})
    np.testing.assert_allclose(above["B − A"]["key"], [[0.4, -0.1]], atol=1e-6)  # for the heads that both have
    assert list(above) == ["A", "B", "B − A"]
