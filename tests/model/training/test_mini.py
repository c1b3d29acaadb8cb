"""The recipe of mini: its curriculum, its data and what is folded into the saved weights."""

import numpy as np
import pytest
import torch

from model.training.mini import CONFIG, LOGIT_SCALE, MiniRecipe, fold_logit_scale, new_model
from model.training.repeat_scores import repeat_scores
from model.training.repeats import repeated_halves

PROSE = np.arange(5000, dtype=np.uint16) % CONFIG.d_vocab


@pytest.fixture
def recipe() -> MiniRecipe:
    return MiniRecipe(seed=0, prose=PROSE, repeat_steps=10, prose_steps=10)


def test_repeats_come_first_and_stay_a_quarter_of_the_rows(recipe: MiniRecipe) -> None:
    first, later = recipe.batch(0), recipe.batch(10)
    assert first.tokens.shape == (64, 64)
    assert len(first.tokens.unique()) == 32
    assert later.tokens.shape == (16, CONFIG.n_ctx)
    is_prose = (later.tokens.diff() == 1).float().mean(1) > 0.9  # the stand-in for prose counts up
    assert is_prose.tolist() == [False] * 4 + [True] * 12
    assert later.targets[4:].all()
    assert not later.targets[:4].all()


def test_a_batch_depends_on_the_step_and_the_state_alone(recipe: MiniRecipe) -> None:
    again = MiniRecipe(seed=0, prose=PROSE, repeat_steps=10, prose_steps=10)
    for step in (3, 12):
        assert recipe.batch(step).tokens.equal(again.batch(step).tokens)
    assert not recipe.batch(3).tokens.equal(recipe.batch(4).tokens)


def test_the_set_of_symbols_grows_only_when_repeats_are_mastered(
    recipe: MiniRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = new_model(seed=0)
    recipe.measure(model, step=1)
    assert recipe.state == {"n_symbols": 32, "n_pos": 64}  # an untrained model masters nothing
    monkeypatch.setattr("model.training.mini.MASTERED", -1)
    sizes = []
    for _ in range(5):
        recipe.measure(model, step=1)
        sizes.append((recipe.state["n_symbols"], recipe.state["n_pos"]))
    assert sizes == [(128, 64), (512, 64), (2048, 64), (4096, 64), (4096, CONFIG.n_ctx)]


def test_half_of_the_heads_are_silent_and_stay_as_drawn_while_repeats_are_learned_alone(recipe: MiniRecipe) -> None:
    model = new_model(seed=0)
    tokens = recipe.batch(0).tokens[:2]
    assert recipe.fwd_hooks(10) == []
    model(tokens, tap=model.edit(recipe.fwd_hooks(0))).sum().backward()
    for name, parameter in model.named_parameters():
        if name.endswith(("W_Q", "W_V", "W_O")):
            assert parameter.grad is not None
            assert parameter.grad[:2].any(), name
            assert not parameter.grad[2:].any(), name


def test_folding_the_scale_scales_the_logits() -> None:
    model, tokens = new_model(seed=0), torch.arange(12)[None]
    before = model(tokens)
    fold_logit_scale(model, LOGIT_SCALE)
    # The scale is applied before the sum over d_model instead of after it: another rounding.
    torch.testing.assert_close(model(tokens), before * LOGIT_SCALE, rtol=1e-5, atol=1e-5)


def test_no_head_is_written_into_the_initial_weights() -> None:
    """At the start every head attends almost evenly: the best scores are near those of even attention."""
    tokens = repeated_halves(32, 25, np.arange(CONFIG.d_vocab), np.random.default_rng(0))
    scores = repeat_scores(new_model(seed=0), tokens)
    assert scores.induction.max() < 0.1
    assert scores.previous_token.max() < 0.2
    assert scores.accuracy < 0.02
