"""A run on the disk: everything that its next step depends on, written so that a kill loses nothing."""

import os
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import nn

from headlight.model.errors import TrainingError

CHECKPOINT = "checkpoint.pt"


def save_checkpoint(
    folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any], identity: str
) -> None:
    """Write the checkpoint beside the old one, then put it in its place: there is always a whole one."""
    saved = {
        "step": step,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "recipe": state,
        "identity": identity,
        "random": torch.get_rng_state(),
        "cuda_random": torch.cuda.get_rng_state_all(),  # an empty list without a GPU
    }
    partial = folder / f"{CHECKPOINT}.new"
    with partial.open("wb") as file:
        torch.save(saved, file)
        file.flush()
        os.fsync(file.fileno())  # on the disk before its name is: a power cut, too, finds the old or the new one
    os.replace(partial, folder / CHECKPOINT)


def resume(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any], identity: str
) -> int:
    """Put the run back to where its checkpoint was written, and say at which step; 0 if there is none.

    Raises:
        TrainingError: the checkpoint cannot be read, or belongs to another model, data or seed.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return 0
    start_over = f"Give another run folder, or delete {path} to start over."
    try:
        saved = torch.load(path, weights_only=True, map_location="cpu")
        if saved["identity"] != identity:
            raise TrainingError(f"{path} belongs to a run on another model, other data or another seed. {start_over}")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
        raise TrainingError(f"{path} is damaged, or no checkpoint of this model. {start_over}") from error
    state.update(saved["recipe"])
    torch.set_rng_state(saved["random"])
    if len(saved["cuda_random"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(saved["cuda_random"])
    return saved["step"]
