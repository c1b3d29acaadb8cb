"""One training run: steps, checkpoints that resume exactly, and a log.

A batch depends on the step and the recipe's state alone, so a run that was killed and resumed sees the data that it
would have seen.
"""

import csv
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from model.errors import HeadlightError
from model.hooks import NO_TAP, HookFunction, NamesFilter, Tap
from model.training.repeats import Batch
from model.transformer import Transformer

CHECKPOINT = "checkpoint.pt"
LOG = "log.csv"
IGNORED = -100  # a target that is none

Row = dict[str, int | float]


class Recipe(ABC):
    """What a run does: how long, at which rate, on which data; `state` is what a checkpoint keeps of it."""

    steps: int
    measure_every: int
    logit_scale: float
    weight_decay: float
    state: dict[str, Any]

    @abstractmethod
    def learning_rate(self, step: int) -> float:
        """The rate of that step."""

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The data of that step."""

    def fwd_hooks(self, step: int) -> Sequence[tuple[NamesFilter, HookFunction]]:
        """Edits of the forward pass of that step; none unless a recipe says so."""
        return ()

    @abstractmethod
    def measure(self, model: Transformer, step: int) -> Row:
        """Figures for the log; may move `state` on (a curriculum)."""


def train(model: Transformer, recipe: Recipe, folder: Path) -> None:
    """Train the model in place, from the folder's checkpoint if there is one, writing checkpoints and log.csv there.

    Raises:
        HeadlightError: the loss became NaN or infinite; the last checkpoint stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    optimizer = optimizer_for(model, recipe.weight_decay)
    first, losses, began = _resume(model, optimizer, recipe, folder), [], time.perf_counter()
    for step in range(first, recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate(step)
        batch = recipe.batch(step)
        loss = targets_loss(model, batch, recipe.logit_scale, model.edit(recipe.fwd_hooks(step)))
        if not loss.isfinite():
            raise HeadlightError(f"The loss is {loss.item()} at step {step}. Lower the learning rate and run again.")
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % recipe.measure_every == 0:
            rate = len(losses) * batch.tokens.numel() / (time.perf_counter() - began)
            row = {
                "step": step + 1,
                "tokens_per_step": batch.tokens.numel(),
                "loss": sum(losses) / len(losses),
                "tokens_per_second": rate,
            }
            _log(folder, row | recipe.measure(model, step + 1))
            _save(model, optimizer, recipe, step + 1, folder)
            losses, began = [], time.perf_counter()


def targets_loss(model: Transformer, batch: Batch, logit_scale: float, tap: Tap = NO_TAP) -> Float[Tensor, ""]:
    """Mean cross-entropy (nats) of the batch's target tokens.

    The logits of the other tokens are computed too and ignored: shapes that change with every step cost more.
    """
    logits = model(batch.tokens, tap=tap)[:, :-1] * logit_scale
    targets = batch.tokens.masked_fill(~batch.targets, IGNORED)[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


def optimizer_for(model: Transformer, weight_decay: float) -> torch.optim.AdamW:
    """AdamW with weight decay on the weight matrices and none on biases and gains."""
    decayed = [parameter for name, parameter in model.named_parameters() if ".W_" in name]
    rest = [parameter for name, parameter in model.named_parameters() if ".W_" not in name]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def _resume(model: Transformer, optimizer: torch.optim.Optimizer, recipe: Recipe, folder: Path) -> int:
    if not (folder / CHECKPOINT).exists():
        return 0
    saved = torch.load(folder / CHECKPOINT, weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    recipe.state.update(saved["recipe"])
    return saved["step"]


def _save(model: Transformer, optimizer: torch.optim.Optimizer, recipe: Recipe, step: int, folder: Path) -> None:
    """Write the checkpoint beside the old one, then put it in its place: a kill in between loses nothing."""
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "recipe": recipe.state, "step": step}
    torch.save(saved, folder / f"{CHECKPOINT}.new")
    os.replace(folder / f"{CHECKPOINT}.new", folder / CHECKPOINT)


def _log(folder: Path, row: Row) -> None:
    path = folder / LOG
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
    print("  ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
