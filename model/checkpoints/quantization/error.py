"""Error of quantised weights against the original model, where it lies beside them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch

from headlight.model.base.errors import CheckpointError, HeadlightError
from headlight.model.base.files import read_json
from headlight.model.checkpoints.folders import is_quantised, read_config_file
from headlight.model.checkpoints.gguf.header import is_gguf
from headlight.model.checkpoints.loading import load
from headlight.model.checkpoints.lora import base_folder, is_adapter
from headlight.model.compute.quantised import plain
from headlight.model.nn.transformer import Transformer

SAME = ("model_type", "hidden_size", "n_embd", "num_hidden_layers", "n_layer", "num_attention_heads", "n_head")
FOLLOWED = ("-", "_", ".")  # by what was done to a model, after its name


@dataclass(frozen=True)
class WeightError:
    """The error of the matrices that differ: the norm of the difference over that of the unquantised matrix."""

    n_matrices: int
    middle: float
    largest: float
    name: str


def unquantised_beside(path: Path) -> Path | None:
    """The folder beside a quantised folder or GGUF file that has a model of the same sizes, unquantised.

    Of several it is the one whose name the quantised one's begins with.
    """
    if is_adapter(path) or not (is_gguf(path) or is_quantised(path)):
        return None
    config, places = read_config_file(path), [path.parent]
    places += [path.parent.parent] if is_gguf(path) else []
    folders = [folder for place in places for folder in (place, *sorted(place.iterdir())) if _is_same(folder, config)]
    named = [folder for folder in folders if _is_of(path, folder) or folder == path.parent]
    return named[-1] if named else folders[0] if len(folders) == 1 else None


def _is_same(folder: Path, config: dict[str, object]) -> bool:
    try:
        if not (folder / "config.json").is_file() or is_adapter(folder) or is_quantised(folder):
            return False
        other = read_json(folder / "config.json")
    except (HeadlightError, OSError):
        return False
    return "model_type" in other and all(
        other[name] == config[name] for name in SAME if {name} <= other.keys() & config
    )


def _is_of(path: Path, folder: Path) -> bool:
    """Whether a model's name goes on from another's."""
    name, shorter = path.name.lower(), folder.name.lower()
    return name.startswith(shorter) and name[len(shorter) :].startswith(FOLLOWED)


def weight_error(model: Transformer, unquantised: Path, tell: Callable[[int, int], None]) -> WeightError:
    """Compare a quantised model's matrices with those of an unquantised folder.

    Args:
        model: the quantised model.
        unquantised: the folder.
        tell: hears how many matrices of how many were compared.

    Raises:
        CheckpointError: the folder's model has other matrices.
    """
    theirs = dict(load(base_folder(unquantised)).named_parameters())
    names = [name for name, _ in model.named_parameters() if name.rpartition(".")[2].lstrip("_").startswith("W_")]
    errors = dict[str, float]()
    for done, name in enumerate(names):
        tell(done, len(names))
        ours = model.get_parameter(name)
        if name not in theirs or theirs[name].shape != ours.shape:
            raise CheckpointError(f"{unquantised.name} has no {name} of this shape: it is another model.")
        expected = plain(theirs[name]).float()
        if difference := float(torch.linalg.vector_norm(plain(ours).float() - expected)):
            errors[name] = difference / float(torch.linalg.vector_norm(expected))
    largest = max(errors, key=lambda name: errors[name], default="")
    return WeightError(len(errors), median(errors.values()) if errors else 0.0, errors.get(largest, 0.0), largest)
