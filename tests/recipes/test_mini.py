"""The recipe of mini: its curriculum, its data and what is folded into the saved weights."""

import itertools
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from headlight.model import load, save_gpt2
from headlight.model.roles.sequences import repeated_halves
from headlight.recipes import mini
from headlight.recipes.mini import CONFIG, LOGIT_SCALE, REPEATS_UNTIL, STAGES, MiniRecipe, fold_logit_scale, new_model
from headlight.recipes.repeat_scores import repeat_scores
from tests.places import MINI

PROSE = np.arange(20_000, dtype=np.uint16) % CONFIG.d_vocab  # counts up, so that prose can be told from repeats
LATER = [REPEATS_UNTIL, *(until - back for until in STAGES for back in (1, 2))]


@pytest.fixture
def recipe() -> MiniRecipe:
    return MiniRecipe(seed=0, prose=PROSE)


def test_repeats_come_first_and_stay_a_quarter_of_the_rows(recipe: MiniRecipe) -> None:
    first = recipe.batch(0)
    assert first.tokens.shape == (64, 64)
    assert len(first.tokens.unique()) == 32
    for step in LATER:
        batch = recipe.batch(step)
        assert batch.tokens.numel() == 4096
        quarter = len(batch.tokens) // 4
        is_prose = (batch.tokens.diff() == 1).float().mean(1) > 0.9
        assert is_prose.tolist() == [False] * quarter + [True] * 3 * quarter
        assert batch.targets[quarter:].all()
        assert not batch.targets[:quarter].all()


def test_rows_of_whole_documents_begin_after_an_end_of_text(recipe: MiniRecipe) -> None:
    for until, kinds in STAGES.items():
        for step in (until - 1, until - 2):
            rows = kinds[step % len(kinds)]
            tokens = recipe.batch(step).tokens
            prose = tokens[len(tokens) // 4 :]
            assert prose.shape[1] == rows.n_pos
            assert (prose[:, 0] == 1).all().item() == rows.whole_documents  # 1 stands after 0, the end-of-text token


def test_a_batch_depends_on_the_step_and_the_state_alone(recipe: MiniRecipe) -> None:
    again = MiniRecipe(seed=0, prose=PROSE)
    for step in (3, *LATER):
        assert recipe.batch(step).tokens.equal(again.batch(step).tokens)
    assert not recipe.batch(3).tokens.equal(recipe.batch(4).tokens)


def test_the_learning_rate_rises_holds_and_ends_low(recipe: MiniRecipe) -> None:
    rates = [recipe.learning_rate(step) for step in (0, 50, 100, 1_000, recipe.steps)]
    assert rates == pytest.approx([1e-5, 5.05e-4, 1e-3, 1e-3, 1e-5])


def test_the_set_of_symbols_grows_only_when_repeats_are_mastered(
    recipe: MiniRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = new_model(seed=0)
    recipe.measure(model, step=1)
    assert recipe.state == {"n_symbols": 32, "n_pos": 64}  # an untrained model masters nothing
    monkeypatch.setattr("headlight.recipes.mini.MASTERED", -1)
    sizes = []
    for _ in range(5):
        recipe.measure(model, step=1)
        sizes.append((recipe.state["n_symbols"], recipe.state["n_pos"]))
    assert sizes == [(128, 64), (512, 64), (2048, 64), (4096, 64), (4096, CONFIG.n_ctx)]


def test_half_of_the_heads_are_silent_and_stay_as_drawn_while_repeats_are_learned_alone(recipe: MiniRecipe) -> None:
    model = new_model(seed=0)
    tokens = recipe.batch(0).tokens[:2]
    assert recipe.fwd_hooks(REPEATS_UNTIL) == []
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


def test_the_models_of_some_steps_are_kept_as_the_last_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, run = tmp_path / "out", tmp_path / "run"
    out.mkdir()
    for path in MINI.glob("tokenizer*.json"):
        shutil.copy(path, out)
    # What the command sets it does not get: other tests are in this process.
    kernel = SimpleNamespace(fp32_precision="exact")
    monkeypatch.setattr(torch.backends.mkldnn, "matmul", kernel)
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    monkeypatch.setattr(mini, "prose_tokens", lambda *args: PROSE)
    monkeypatch.setattr(MiniRecipe, "steps", 5)
    monkeypatch.setattr(MiniRecipe, "measure_every", 1)
    monkeypatch.setattr(sys, "argv", ["mini", "--out", str(out), "--run", str(run), "--keep", "2", "--threads", "1"])
    mini.main("mini", replace(CONFIG, n_layers=1), save_gpt2)
    assert kernel.fp32_precision == "exact"  # again: the faster one is for training alone
    assert sorted(path.name for path in (run / mini.STEPS).iterdir()) == ["2", "4"]
    logits = []
    for folder in (run / mini.STEPS / "2", run / mini.STEPS / "4", out):
        model = load(str(folder))
        logits.append(model(model.to_tokens("one two")))
    assert all((one - other).abs().max() > 1e-3 for one, other in itertools.pairwise(logits))  # each step's own


def test_no_head_is_written_into_the_initial_weights() -> None:
    """At the start every head attends almost evenly: the best scores are near those of even attention."""
    tokens = repeated_halves(32, 25, np.arange(CONFIG.d_vocab), np.random.default_rng(0))
    scores = repeat_scores(new_model(seed=0), tokens)
    assert scores.induction.max() < 0.1
    assert scores.previous_token.max() < 0.2
    assert scores.accuracy < 0.02
