"""Composition against TransformerLens on the same weights, explicit matrices, and what randomness must give."""

import numpy as np
import pytest
import torch
from torch import Tensor

from headlight.model import Transformer, load
from headlight.model.measure.head_steps import Norm
from headlight.model.weights.composition import Product, Through, composition, random_composition, reader
from headlight.recipes.teaching_weights import induction_circuit
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import random_model

LETTERS: dict[Through, str] = {"query": "Q", "key": "K", "value": "V"}


def parameters(model: Transformer, layer: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W_Q, W_K, W_V and W_O of a layer's heads."""
    attn = model.blocks[layer].get_submodule("attn")
    W_Q, W_K, W_V, W_O = (attn.get_parameter(name).detach() for name in ("W_Q", "W_K", "W_V", "W_O"))
    return W_Q, W_K, W_V, W_O


def reading(through: Through, model: Transformer, layer: int, head: int, norm: Norm | None = None) -> Product:
    """How one head reads."""
    W_Q, W_K, W_V, W_O = (each[head] for each in parameters(model, layer))
    return reader(through, W_Q, W_K, W_V, W_O, norm)


def earlier(model: Transformer, layer: int) -> Product:
    """What a layer's heads write."""
    _, _, W_V, W_O = parameters(model, layer)
    return Product(W_V, W_O)


@pytest.mark.parametrize("through", LETTERS)
def test_the_scores_are_those_of_transformer_lens(through: Through) -> None:
    model = random_model(n_layers=3)
    theirs = lens_twin(model).all_composition_scores(LETTERS[through])
    for first, second in ((0, 1), (0, 2), (1, 2)):
        for head in range(model.cfg.n_heads):
            later = reading(through, model, second, head)
            ours = composition(earlier(model, first), later)
            # Float32 norms of matrices with a hundred entries of size 1, taken in another order.
            torch.testing.assert_close(ours, theirs[first, :, second, head].detach(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("through", LETTERS)
def test_the_gain_and_the_centring_are_those_of_a_layer_norm(through: Through) -> None:
    model = random_model()
    gain = model.get_parameter("blocks.1.ln1.w").detach()
    d_model = model.cfg.d_model
    norm = (np.eye(d_model) - 1 / d_model) @ np.diag(gain.double().numpy())
    W_Q, W_K, W_V, W_O = (each[0].double().numpy() for each in parameters(model, 1))
    second = {
        "query": norm @ W_Q @ W_K.T @ norm.T,
        "key": norm @ W_K @ W_Q.T @ norm.T,
        "value": norm @ W_V @ W_O,
    }[through]
    scores = composition(earlier(model, 0), reading(through, model, 1, 0, Norm(1e-5, gain)))
    _, _, W_V, W_O = (each.double().numpy() for each in parameters(model, 0))
    for head in range(model.cfg.n_heads):
        first = W_V[head] @ W_O[head]
        expected = np.linalg.norm(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)
        assert scores[head].item() == pytest.approx(expected, rel=1e-5)  # float32 of a float64 result


def test_heads_in_one_direction_score_one_and_heads_at_right_angles_nothing() -> None:
    x, y = torch.eye(5)[:, :1], torch.eye(5)[:, 1:2]
    write_x = Product(y, x.T)
    assert composition(write_x, Product(x, y.T)) == 1
    assert composition(write_x, Product(y, x.T)) == 0
    assert composition(write_x, Product(0 * x, y.T)).isnan()


def test_the_previous_token_head_of_a_known_circuit_is_read_by_the_induction_heads_key_alone() -> None:
    model = induction_circuit()
    scores = {through: composition(earlier(model, 0), reading(through, model, 1, 0)) for through in LETTERS}
    # Both circuits are 12 numbers of one size on a diagonal: √12 / (√12 √12).
    assert scores["key"][0].item() == pytest.approx(12**-0.5, rel=1e-6)
    assert scores["key"][0] == scores["key"].nan_to_num().max()
    assert scores["query"].nan_to_num()[0] == scores["value"].nan_to_num()[0] == 0


@pytest.mark.parametrize("through", LETTERS)
@pytest.mark.parametrize("d_model", [8, 40])
def test_random_heads_score_one_over_the_root_of_d_model(through: Through, d_model: int) -> None:
    """Turned at random, a matrix loses 1/d_model of its squared size in any other: with every gain."""
    gain = torch.rand(d_model, generator=torch.Generator().manual_seed(1)) + 0.5
    for read_by in (None, Norm(1e-5, gain)):
        baseline = random_composition(through, d_model, 4, 3, read_by, n=4000)
        mean, sd = baseline.mean.values, baseline.sd.values
        # The mean of 4000 squares, none of which strays from it by more than twice its size: within 4 in the root of
        # their number.
        assert (mean**2 + sd**2).sqrt().item() == pytest.approx(d_model**-0.5, rel=0.03)


def test_the_baseline_is_drawn_from_its_seed() -> None:
    first, again, other = (random_composition("key", 12, 3, 3, seed=seed).mean.values for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_the_induction_heads_of_mini_read_its_previous_token_head_by_their_keys_more_than_any_other() -> None:
    """The card names the induction heads; the previous-token head is the one whose pattern says so."""
    model = load("mini")
    tokens = torch.randint(model.cfg.d_vocab, (1, 50), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        _, cache = model.run_with_cache(tokens, lambda name: name == "blocks.0.attn.hook_pattern")
    previous = cache["pattern", 0][0].diagonal(-1, 1, 2).mean(-1).argmax()
    gain = Norm(1e-5, model.get_parameter("blocks.1.ln1.w").detach())
    baseline = random_composition("key", model.cfg.d_model, model.cfg.d_head, model.cfg.d_head, gain)
    for head in (0, 1):
        by_key = reading("key", model, 1, head, gain)
        scores = composition(earlier(model, 0), by_key)
        assert scores.argmax() == previous
        assert scores[previous] > baseline.mean.values + 4 * baseline.sd.values
