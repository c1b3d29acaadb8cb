"""The training loop: exact resumption, loss on targets alone, a stop on NaN."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from headlight.model.base.errors import TrainingError, WriteError
from headlight.model.base.files import replacing
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.training import loop
from headlight.model.training.log import Row, append_row
from headlight.model.training.loop import Recipe, optimizer_for, train
from headlight.recipes.repeats import Batch, draw_repeats, targets_loss
from tests.small_disk import small_disk

CFG = TransformerConfig(n_layers=1, d_model=16, n_ctx=16, n_heads=2, d_head=8, d_vocab=20, tie_word_embeddings=True)


class TinyRecipe(Recipe[Transformer, Batch]):
    """Four steps of repeats whose set of symbols grows with every measurement: state that a resumed run must have."""

    measure_every = 2
    weight_decay = 0.1

    def __init__(self, steps: int, rate: float = 1e-2) -> None:
        self.steps, self.rate = steps, rate
        self.state: dict[str, Any] = {"n_symbols": 5}

    def learning_rate(self, step: int) -> float:
        return self.rate / (step + 1)

    def batch(self, step: int) -> Batch:
        return draw_repeats(4, 16, np.arange(self.state["n_symbols"]), np.random.default_rng(step))

    def loss(self, model: Transformer, batch: Batch, step: int) -> Float[Tensor, ""]:
        return targets_loss(model, batch, logit_scale=0.5)

    def counts(self, batch: Batch) -> Row:
        return {"tokens_per_step": batch.tokens.numel()}

    def measure(self, model: Transformer, step: int) -> Row:
        self.state["n_symbols"] += 5
        return {"n_symbols": self.state["n_symbols"]}


def new_model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CFG)


def test_a_run_stopped_and_resumed_ends_with_the_weights_of_one_not_stopped(tmp_path: Path) -> None:
    whole, stopped, resumed = new_model(), new_model(), new_model()
    train(whole, TinyRecipe(steps=4), tmp_path / "whole")
    train(stopped, TinyRecipe(steps=2), tmp_path / "parts")
    train(resumed, TinyRecipe(steps=4), tmp_path / "parts")
    for name, parameter in whole.state_dict().items():
        assert resumed.state_dict()[name].equal(parameter), name
    assert not stopped.embed.W_E.equal(whole.embed.W_E)
    assert len((tmp_path / "parts" / "log.csv").read_text().splitlines()) == 1 + 2


def test_the_loss_is_the_mean_cross_entropy_of_the_targets_alone() -> None:
    model, batch = new_model(), TinyRecipe(steps=1).batch(0)
    losses = F.cross_entropy((model(batch.tokens) * 0.5)[:, :-1].mT, batch.tokens[:, 1:], reduction="none")
    # Two orders of summation in float32.
    torch.testing.assert_close(targets_loss(model, batch, 0.5), losses[batch.targets[:, 1:]].mean(), rtol=1e-5, atol=0)


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    model, recipe = new_model(), TinyRecipe(steps=60)
    recipe.learning_rate = lambda step: 1e-2  # type: ignore[method-assign]
    recipe.measure = lambda model, step: {}  # type: ignore[method-assign]
    before = targets_loss(model, recipe.batch(1000), 0.5).item()
    train(model, recipe, tmp_path)
    assert targets_loss(model, recipe.batch(1000), 0.5).item() < 0.9 * before


def test_mixed_precision_computes_products_in_bfloat16_and_keeps_parameters_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = {}
    for kind, devices in (("float32", ()), ("mixed", ("cpu",))):  # the CPU stands in for a GPU
        monkeypatch.setattr(loop, "MIXED_ON", devices)
        trained[kind], recipe, seen = new_model(), TinyRecipe(steps=4), []
        loss = recipe.loss
        recipe.loss = lambda *args, loss=loss, seen=seen: seen.append(loss(*args)) or seen[-1]  # type: ignore[method-assign,misc]
        train(trained[kind], recipe, tmp_path / kind)
        assert {each.dtype for each in seen} == {torch.float32}
        assert {parameter.dtype for parameter in trained[kind].parameters()} == {torch.float32}
        assert {each.grad.dtype for each in trained[kind].parameters() if each.grad is not None} == {torch.float32}
    plain, mixed = (trained[kind].get_parameter("blocks.0.mlp.W_in").detach() for kind in ("float32", "mixed"))
    assert not mixed.equal(plain)
    # AdamW moves each entry by at most about the rate a step, 2.1e-2 in all; where a gradient's sign is lost in
    # bfloat16's 8 bits an entry may go the other way, but most go along.
    assert ((mixed - plain).abs() < 5e-3).float().mean() > 0.9


def test_weight_decay_spares_biases_and_gains() -> None:
    model = new_model()
    decayed, spared = (group["params"] for group in optimizer_for(model, 0.1).param_groups)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert all(".W_" in names[id(parameter)] for parameter in decayed)
    assert {names[id(parameter)].rpartition(".")[2] for parameter in spared} == {
        "w", "b", "b_Q", "b_K", "b_V", "b_O", "b_in", "b_out",
    }  # fmt: skip
    assert len(decayed) + len(spared) == len(names)


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    model = new_model()
    train(model, TinyRecipe(steps=2), tmp_path)
    with torch.no_grad():
        model.ln_final.w[0] = torch.nan
    saved = (tmp_path / "checkpoint.pt").read_bytes()
    broken = TinyRecipe(steps=4)
    broken.batch = lambda step: Batch(torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, 2, dtype=torch.bool))  # type: ignore[method-assign]
    with pytest.raises(TrainingError, match="The loss is nan at step 2"):
        train(model, broken, tmp_path)  # no targets: the mean of nothing is NaN
    assert (tmp_path / "checkpoint.pt").read_bytes() == saved


def test_a_full_disk_is_said_and_the_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """torch says nothing but `inline_container ... unexpected pos` then."""
    whole, stopped, resumed = new_model(), new_model(), new_model()
    train(whole, TinyRecipe(steps=4), tmp_path / "whole")
    train(stopped, TinyRecipe(steps=2), tmp_path / "parts")
    with small_disk(5000), pytest.raises(WriteError, match=r"checkpoint\.pt cannot be written .*make room"):
        train(new_model(), TinyRecipe(steps=4), tmp_path / "parts")
    train(resumed, TinyRecipe(steps=4), tmp_path / "parts")
    for name, tensor in whole.state_dict().items():
        assert resumed.state_dict()[name].equal(tensor), name
    with small_disk(0), pytest.raises(WriteError, match=r"log\.csv cannot be written \(File too large\)"):
        append_row(tmp_path, {"step": 1})
    save = partial(save_file, {"x": torch.zeros(1000)})
    with small_disk(500), pytest.raises(WriteError, match="x cannot be written"), replacing(tmp_path / "x") as beside:
        save(beside)
