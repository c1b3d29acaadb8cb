"""A run on the disk: everything that its next step depends on, written so that a kill loses nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headlight.model.base.errors import TrainingError
from headlight.model.base.files import check_regular, replacing

CHECKPOINT = "checkpoint.pt"


def save_checkpoint(
    folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any], identity: str
) -> None:
    """Write the checkpoint; there is always a whole one."""
    saved = {
        "step": step,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "recipe": state,
        "identity": identity,
        "random": torch.get_rng_state(),
        "cuda_random": torch.cuda.get_rng_state_all(),  # an empty list without a GPU
    }
    save_whole(folder / CHECKPOINT, saved)


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
    another, damaged = "a run on another model, other data or another seed", "damaged, or no checkpoint of this model"
    with saved_whole(path, identity, another, damaged) as saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    state.update(saved["recipe"])
    torch.set_rng_state(saved["random"])
    if len(saved["cuda_random"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(saved["cuda_random"])
    return saved["step"]


def save_whole(path: Path, saved: dict[str, Any]) -> None:
    """Write a file beside the old one, then put it in its place."""
    with replacing(path) as beside, beside.open("wb") as file:
        torch.save(saved, file)


@contextmanager
def saved_whole(path: Path, identity: str, another: str, damaged: str) -> Iterator[dict[str, Any]]:
    """Load `save_whole`'s checkpoint, to resume from.

    Raises:
        TrainingError: it belongs to `another`, by its identity, or is `damaged`: it cannot be read or taken up.
    """
    start_over = f"Give another run folder, or delete {path} to start over."
    try:
        check_regular(path)
        saved = torch.load(path, weights_only=True, map_location="cpu")
        if saved["identity"] != identity:
            raise TrainingError(f"{path} belongs to {another}. {start_over}")
        yield saved
    except TrainingError:
        raise
    except Exception as error:  # whatever a damaged pickle, or a state of another shape, makes torch raise
        raise TrainingError(f"{path} is {damaged}. {start_over}") from error
