"""One training run: steps, checkpoints that resume exactly, a log and a progress bar.

A batch depends on the step and the recipe's state alone, so a run that was killed and resumed sees the data that it
would have seen.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from tqdm import tqdm

from headlight.model.base.errors import TrainingError
from headlight.model.base.files import writing
from headlight.model.training.checkpoint import resume, save_checkpoint
from headlight.model.training.log import Interval, Row, append_row, drop_rows_after
from headlight.model.training.schedules import Schedule

Model = TypeVar("Model", bound=nn.Module)
Batch = TypeVar("Batch")

MIXED_ON = ("cuda",)  # kinds of device that compute products in bfloat16; the parameters stay float32
CLIP_NORM = 1.0  # gradients longer than this (L2 norm over all parameters) are scaled down to it


class Recipe(ABC, Generic[Model, Batch]):
    """A training recipe: length, learning rate, data and loss.

    `state` is what a checkpoint keeps of it; `identity` tells runs apart whose checkpoints must not be mixed.
    """

    steps: int
    measure_every: int
    weight_decay: float
    state: dict[str, Any]
    identity: str = ""

    @abstractmethod
    def learning_rate(self, step: int) -> float:
        """The rate of that step."""

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The data of that step."""

    @abstractmethod
    def loss(self, model: Model, batch: Batch, step: int) -> Float[Tensor, ""]:
        """Loss of that step, in nats."""

    @abstractmethod
    def counts(self, batch: Batch) -> Row:
        """Logged quantities of a step's data, as a mean over steps: `tokens_per_step`, and others of interest."""

    @abstractmethod
    def measure(self, model: Model, step: int) -> Row:
        """Figures for the log; may move `state` on (a curriculum)."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a training run, independent of its data."""

    steps: int
    schedule: Schedule
    label_smoothing: float = 0.0
    weight_decay: float = 0.01
    measure_every: int = 100
    seed: int = 0


class SetRecipe(Recipe[Model, Batch]):
    """A recipe that goes as settings say; `content` is what tells its runs apart beside the seed."""

    def __init__(self, settings: Settings, *content: object) -> None:
        self.settings, self.state = settings, {}
        self.steps, self.measure_every = settings.steps, settings.measure_every
        self.weight_decay = settings.weight_decay
        self.identity = hashlib.sha256(repr((*content, settings.seed)).encode()).hexdigest()

    def learning_rate(self, step: int) -> float:
        """The schedule's."""
        return self.settings.schedule(step)

    def measure(self, model: Model, step: int) -> Row:
        """The last step's rate, and `figures`."""
        model.eval()
        figures = self.figures(model)
        model.train()
        return {"learning_rate": self.learning_rate(step - 1), **figures}

    @abstractmethod
    def figures(self, model: Model) -> Row:
        """The measurements for the log, without dropout."""


def train_as_set(model: Model, recipe: SetRecipe[Model, Batch], folder: Path) -> None:
    """`train` with the dropout that the settings' seed draws, and none afterwards."""
    torch.manual_seed(recipe.settings.seed)
    model.train()
    train(model, recipe, folder)
    model.eval()


@contextmanager
def faster_products() -> Iterator[None]:
    """A faster kernel for products on the processor: training does not need every bit."""
    # torch makes the attribute when it is imported, unseen by mypy.
    kernel: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    exact, kernel.fp32_precision = kernel.fp32_precision, "bf16"
    try:
        yield
    finally:
        kernel.fp32_precision = exact


def train(
    model: Model, recipe: Recipe[Model, Batch], folder: Path, kept: Callable[[int], object] = lambda step: None
) -> None:
    """Train the model in place, from the folder's checkpoint if there is one, writing checkpoints and log.csv there.

    After each checkpoint `kept` is called with its step, while the model is as it was then.

    Raises:
        TrainingError: the loss or its gradient became NaN or infinite (the last checkpoint stays), or the checkpoint is
            of another run.
        WriteError: the disk is full, or the folder cannot be written to; the last checkpoint stays.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    optimizer = optimizer_for(model, recipe.weight_decay)
    first = resume(folder, model, optimizer, recipe.state, recipe.identity)
    drop_rows_after(folder, first)
    interval = Interval()
    with tqdm(total=recipe.steps, initial=first, unit="step", disable=None) as bar:  # None: on a terminal alone
        for step in range(first, recipe.steps):
            batch = recipe.batch(step)
            interval.add(_update(model, recipe, optimizer, batch, step), recipe.counts(batch))
            bar.set_postfix_str(interval.summary, refresh=False)
            bar.update()
            if (step + 1) % recipe.measure_every == 0 or step + 1 == recipe.steps:
                append_row(folder, {"step": step + 1, **interval.row, **recipe.measure(model, step + 1)})
                save_checkpoint(folder, step + 1, model, optimizer, recipe.state, recipe.identity)
                kept(step + 1)
                interval = Interval()


def _update(
    model: Model, recipe: Recipe[Model, Batch], optimizer: torch.optim.Optimizer, batch: Batch, step: int
) -> float:
    """One step of the optimizer; the loss before it."""
    rate = recipe.learning_rate(step)
    for group in optimizer.param_groups:
        group["lr"] = rate
    device = next(model.parameters()).device.type
    # bfloat16 has float32's range, so that gradients need no scaling.
    with torch.autocast(device, torch.bfloat16, enabled=device in MIXED_ON):
        loss = recipe.loss(model, batch, step)
    _check("loss", loss, step, rate)
    optimizer.zero_grad()
    loss.backward()
    _check("gradient's norm", nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM), step, rate)
    optimizer.step()
    return loss.item()


def _check(name: str, value: Tensor, step: int, rate: float) -> None:
    if not value.isfinite():
        raise TrainingError(
            f"The {name} is {value.item()} at step {step}, at a learning rate of {rate:.3g}. Lower the rate or make "
            "the warm-up longer, and run again: it goes on from the last checkpoint, which is from before."
        )


def optimizer_for(model: nn.Module, weight_decay: float) -> torch.optim.AdamW:
    """AdamW on what is not frozen, with weight decay on the weight matrices and none on biases and gains."""
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    decayed = [parameter for name, parameter in trained if ".W_" in name]
    rest = [parameter for name, parameter in trained if ".W_" not in name]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))
