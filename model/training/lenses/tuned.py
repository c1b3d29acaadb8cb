"""Fit a tuned lens: an affine map of each layer's state that predicts the model's output."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headlight.model.nn.hooks import Collect
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.training.log import Row
from headlight.model.training.loop import Recipe, train

Rows = Int[Tensor, "row pos"]


class Translators(nn.ModuleList):
    """Update of each layer's state before the logit lens; all zero at first, which is the logit lens itself."""

    def __init__(self, n_layers: int, d_model: int) -> None:
        super().__init__(nn.Linear(d_model, d_model) for _ in range(n_layers))
        for parameter in self.parameters():
            nn.init.zeros_(parameter)


class TunedRecipe(Recipe[Translators, Rows]):
    """Lowers the mean KL divergence of the final distribution from each layer's, over rows of text.

    Source: Belrose et al. 2023, arXiv 2303.08112, section 3.
    """

    weight_decay = 0.0
    measure_every = 50

    def __init__(
        self,
        model: Transformer,
        rows: Rows,
        held_out: Int[Tensor, "other pos"],
        steps: int,
        rows_a_step: int,
        seed: int,
    ) -> None:
        self.model, self.rows, self.held_out = model, rows, held_out
        self.steps, self.rows_a_step, self.seed = steps, rows_a_step, seed
        self.state: dict[str, Any] = {}
        self.identity = f"tuned {model.cfg.n_layers} {model.cfg.d_model} {tuple(rows.shape)} {seed} {steps}"

    def learning_rate(self, step: int) -> float:
        """Up within twenty steps and then down to zero in a straight line."""
        return 1e-2 * min(1.0, (step + 1) / 20) * (1 - step / self.steps)

    def batch(self, step: int) -> Rows:
        """Rows drawn at random for each step."""
        chosen = np.random.default_rng((self.seed, step)).integers(len(self.rows), size=self.rows_a_step)
        return self.rows[torch.from_numpy(chosen)]

    def loss(self, model: Translators, batch: Rows, step: int) -> Float[Tensor, ""]:
        """The mean over positions and layers, in nats."""
        return torch.stack(divergences(self.model, model, batch)).mean()

    def counts(self, batch: Rows) -> Row:
        """Every token counts."""
        return {"tokens_per_step": batch.numel()}

    def measure(self, model: Translators, step: int) -> Row:
        """The divergence of each layer on rows that were held out."""
        with torch.no_grad():
            losses = divergences(self.model, model, self.held_out)
        return {f"kl_{'embed' if state == 0 else f'L{state - 1}'}": kl.item() for state, kl in enumerate(losses)}


def divergences(model: Transformer, translators: Translators, rows: Rows) -> list[Float[Tensor, ""]]:
    """KL(final || layer) in nats of each state with its translator, the mean over positions."""
    names, n_layers = [f"blocks.{layer}.hook_resid_pre" for layer in range(model.cfg.n_layers)], model.cfg.n_layers
    W_U, b_U = widened(model.unembed.W_U), model.unembed.b_U
    with torch.no_grad():
        keep = Collect(names)
        last = model(rows, tap=keep, stop_at_layer=n_layers)
        final = torch.addmm(b_U, model.to_unembed(last).flatten(0, 1), W_U).log_softmax(-1)
    losses = []
    for name, translator in zip(names, translators, strict=True):
        resid = keep.kept[name]
        read = model.to_unembed(resid + translator(resid)).flatten(0, 1)
        losses.append(_Divergence.apply(read, final, W_U, b_U))
    return losses


class _Divergence(torch.autograd.Function):
    """The mean of KL(final || said) over rows, whose gradient by the logits is what is said less what is final.

    The gradient is taken on the way: a graph would hold several arrays of the logits' size for each layer.
    """

    @staticmethod
    def forward(
        ctx: Any,
        read: Float[Tensor, "row d_model"],
        final: Float[Tensor, "row d_vocab"],
        W_U: Float[Tensor, "d_model d_vocab"],
        b_U: Float[Tensor, " d_vocab"],
    ) -> Float[Tensor, ""]:
        said, wanted = torch.addmm(b_U, read, W_U).log_softmax(-1), final.exp()
        divergence = (final - said).mul_(wanted).sum() / len(read)
        ctx.save_for_backward(said.exp_().sub_(wanted) @ W_U.T / len(read))
        return divergence

    @staticmethod
    def backward(ctx: Any, gradient: Float[Tensor, ""]) -> tuple[Tensor, None, None, None]:
        (by_read,) = ctx.saved_tensors
        return gradient * by_read, None, None, None


def fit_tuned(model: Transformer, recipe: TunedRecipe, folder: Path) -> Translators:
    """Fit, or go on from the folder's checkpoint; log.csv and the checkpoints lie there.

    Raises:
        TrainingError: the loss became infinite, or the checkpoint is of another run.
    """
    translators = Translators(model.cfg.n_layers, model.cfg.d_model)
    train(translators, recipe, folder)
    return translators
