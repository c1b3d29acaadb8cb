"""Fitting a Jacobian lens: the mean over prompts of each one's Jacobians, resumed where it was stopped."""

from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from headlight.model.lens.jacobian import prompt_jacobians
from headlight.model.nn.transformer import Transformer
from headlight.model.training.checkpoint import save_whole, saved_whole
from headlight.model.training.log import MOVED, append_row, drop_rows_after

SUMS = "jacobians.pt"
EVERY = 10  # prompts between two checkpoints and lines of the log

Jacobians = dict[int, Float[Tensor, "d_model d_model"]]


def fit_jacobian(model: Transformer, rows: Int[Tensor, "row pos"], folder: Path) -> Jacobians:
    """The mean Jacobians of the states after each layer but the last, by state; each prompt counts once.

    The log says by how much the mean still moved, relative to it (Frobenius norms), over the last prompts.

    Raises:
        TrainingError: the folder holds sums of another model or other prompts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    states = range(1, model.cfg.n_layers)
    identity = f"{model.cfg.n_layers} {model.cfg.d_model} {rows[0].tolist()}"  # of more rows it goes on
    done, sums = _resume(folder, states, model.cfg.d_model, identity)
    drop_rows_after(folder, done)
    before = {state: each / max(done, 1) for state, each in sums.items()}
    for number in tqdm(range(done, len(rows)), initial=done, total=len(rows), unit="prompt", disable=None):
        for state, jacobian in prompt_jacobians(model, rows[number], states).items():
            sums[state] += jacobian
        if (number + 1) % EVERY == 0 or number + 1 == len(rows):
            mean = {state: each / (number + 1) for state, each in sums.items()}
            moved = {f"{MOVED}{s - 1}": ((mean[s] - before[s]).norm() / mean[s].norm()).item() for s in states}
            append_row(folder, {"prompts": number + 1, **moved})
            save_whole(folder / SUMS, {"done": number + 1, "sums": sums, "identity": identity})
            before = mean
    return {state: each / len(rows) for state, each in sums.items()}


def _resume(folder: Path, states: range, d_model: int, identity: str) -> tuple[int, Jacobians]:
    path = folder / SUMS
    if not path.exists():
        return 0, {state: torch.zeros(d_model, d_model) for state in states}
    with saved_whole(path, identity, "another model or other prompts", "damaged") as saved:
        done, sums = saved["done"], saved["sums"]
    return done, sums
