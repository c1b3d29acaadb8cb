"""What the page *Weights* finds in a model, against the whole matrices in numpy."""

import numpy as np
import pytest
import torch

from app import models, weights
from app.selection.chosen import CircuitKind
from app.views import weight_tables
from app.weights import circuit, compositions, directions, known_pairs, pairs, partners, searching_seconds
from model import Transformer
from model.analysis import Measure, circuits
from model.analysis.composition import random_composition

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


@pytest.mark.parametrize("kind", ["qk", "ov"])
def test_pairs_partners_and_strengths_are_those_of_the_whole_matrix(kind: CircuitKind, folder: str) -> None:
    model = models.open_model(folder)
    matrix, name = whole(model, kind), folder
    # Products of float32 factors that were balanced: 1e-6 of the largest entries.
    near = 1e-5 * float(np.abs(matrix).max())
    found = pairs(name, HEAD, kind)
    entries = np.sort(matrix, axis=None)
    np.testing.assert_allclose(found.highest.values.values, entries[::-1][:20], atol=near)
    np.testing.assert_allclose(found.lowest.values.values, entries[:20], atol=near)
    at = found.highest.rows.values.numpy(), found.highest.columns.values.numpy()
    np.testing.assert_allclose(matrix[at], found.highest.values.values, atol=near)
    row, column = partners(name, HEAD, kind, 7)
    np.testing.assert_allclose(row.highest.values.values, np.sort(matrix[7])[::-1][:10], atol=near)
    np.testing.assert_allclose(column.lowest.values.values, np.sort(matrix[:, 7])[:10], atol=near)
    strengths = np.linalg.svd(matrix, compute_uv=False)[: weights.N_DIRECTIONS]
    np.testing.assert_allclose(directions(name, HEAD, kind).strengths.values, strengths[strengths > 1e-9], rtol=1e-4)


def test_what_was_found_is_kept(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_pairs(folder, (0, 3), "ov") is None
    found = pairs(folder, (0, 3), "ov")
    monkeypatch.setattr(circuits, "top_pairs", lambda *_: pytest.fail("searched again"))
    assert pairs(folder, (0, 3), "ov") is found
    assert known_pairs(folder, (0, 3), "ov") is found
    assert circuit(folder, (0, 3), "ov") is circuit(folder, (0, 3), "ov")


def test_a_head_composes_with_the_layers_before_it_alone(folder: str) -> None:
    found = compositions(folder, (2, 1))
    assert {each.values.shape for each in found.scores.values()} == {(2, 5)}
    assert all(0 <= float(score) <= 1 for each in found.scores.values() for score in each.values.flatten())
    assert compositions(folder, (0, 1)).scores["key"].values.shape == (0, 5)


def test_the_estimate_is_of_both_searches_over_all_pairs() -> None:
    cfg = models.open_model("mini").cfg
    assert searching_seconds(cfg) == pytest.approx(2 * 2 * 4096**2 * 32 / 4e10)


def test_a_head_that_writes_nothing_is_not_composed_with() -> None:
    """The hand-made circuits have such heads: their scores are no numbers, and nothing on the page trips over them."""
    nothing, something = torch.full((1, 2), torch.nan), torch.tensor([[torch.nan, 0.5]])
    baseline = random_composition("key", 8, 2, 2)
    for values, farthest_is, says in ((nothing, 0.0, "nothing"), (something, 0.5, "Most: L0H1 with 0.5")):
        score = Measure("composition", "share", ("layer", "head"), values)
        found = weights.Composed({"key": score}, {"key": baseline})
        expected = farthest_is and farthest_is - float(baseline.mean.values)
        assert weight_tables.farthest(found) == pytest.approx(expected)
        assert says in weight_tables.spelled_composition(found, "key")
