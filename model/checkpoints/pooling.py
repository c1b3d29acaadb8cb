"""Pooling of a sentence encoder's tokens, by the files of sentence-transformers beside it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import open_file, parse_json
from headlight.model.checkpoints.family import Checkpoint
from headlight.model.checkpoints.places import MODULES
from headlight.model.checkpoints.state_dicts import read_tensors
from headlight.model.nn.config import DenseActivation, OutputPosition, TransformerConfig

MAX_BYTES = 2**20
KINDS: dict[str, OutputPosition] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
}
UNNAMED = ("Transformer", "Pooling", "Normalize")  # what a cosine does not depend on, or is read in any case
ACTIVATIONS: dict[str, DenseActivation] = {  # by the names of torch's modules
    "Identity": "identity",
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
    "SiLU": "silu",
}
WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def is_sentence_encoder(folder: Path) -> bool:
    """Whether sentence-transformers' list of modules lies beside a model, or above it."""
    return _home(folder) is not None


def _home(folder: Path) -> Path | None:
    """The folder of that list; the model is its first module, at first in a folder of its own (0_Transformer)."""
    homes = [folder, folder.parent] if folder.name.startswith("0_") else [folder]
    return next((home for home in homes if folder.is_dir() and (home / MODULES).is_file()), None)


def with_sentence(folder: Path, checkpoint: Checkpoint[TransformerConfig]) -> Checkpoint[TransformerConfig]:
    """Add pooling and the dense layers behind it to a sentence encoder's checkpoint; other checkpoints are unchanged.

    Raises:
        CheckpointError: one of the files cannot be read.
    """
    if (home := _home(folder)) is None:
        return checkpoint
    modules = _modules(home)
    position, note = _pooling(home, modules)
    cfg, files = replace(checkpoint.cfg, output_position=position), checkpoint.files
    behind = [(kind, path) for kind, path in modules if kind not in UNNAMED]
    dense = [_Dense(home / path) for kind, path in behind if kind == "Dense"]
    if len(dense) == len(behind) and all(each.is_read for each in dense):
        cfg = replace(cfg, sentence_dense=tuple((each.width, each.activation) for each in dense if each.activation))
        state = checkpoint.state | {
            f"sentence_dense.{place}.{name}": tensor
            for place, each in enumerate(dense)
            for name, tensor in each.parameters(cfg.d_model if place == 0 else dense[place - 1].width).items()
        }
        return replace(checkpoint, cfg=cfg, state=state, files=(*files, *(each.file for each in dense)), note=note)
    kinds = " and ".join(dict.fromkeys(kind for kind, _ in behind))
    return replace(checkpoint, cfg=cfg, note=f"{note}, whose {kinds} behind the pooling is not read")


def _modules(folder: Path) -> list[tuple[str, str]]:
    """The kind of each module and the name of its folder, in order."""
    modules = _read(folder / MODULES)
    listed = [each for each in modules if isinstance(each, dict)] if isinstance(modules, list) else []
    return [(str(each.get("type", "")).rpartition(".")[2], Path(str(each.get("path", ""))).name) for each in listed]


def _pooling(folder: Path, modules: list[tuple[str, str]]) -> tuple[OutputPosition, str]:
    """Tokens that are pooled into a sentence, and a note; "each" where no file states it in a supported way."""
    path = dict(modules).get("Pooling", "")
    config = folder / path / "config.json"
    settings = _read(config) if path and config.is_file() else {}
    chosen = [name for name, on in settings.items() if name.startswith("pooling_mode_") and on is True]
    if len(chosen) == 1 and chosen[0] in KINDS:
        return KINDS[chosen[0]], "a sentence encoder"
    return "each", f"a sentence encoder, whose pooling is not read ({', '.join(chosen) or 'none is set'})"


class _Dense:
    """The folder of a linear layer with an activation function."""

    def __init__(self, folder: Path) -> None:
        settings = _read(folder / "config.json") if (folder / "config.json").is_file() else {}
        width = settings.get("out_features")
        self.width: int = width if type(width) is int else 0
        self.activation = ACTIVATIONS.get(str(settings.get("activation_function", "")).rpartition(".")[2])
        self.file = next((folder / name for name in WEIGHTS if (folder / name).is_file()), folder / WEIGHTS[0])

    @property
    def is_read(self) -> bool:
        """Whether its settings are those of a layer that is computed here."""
        return self.width > 0 and self.activation is not None and self.file.is_file()

    def parameters(self, d_in: int) -> dict[str, Tensor]:
        """Its matrix as [in, out], and its bias.

        Raises:
            CheckpointError: they are not there, or of another shape.
        """
        stored = read_tensors(self.file)
        W = stored.get("linear.weight", torch.empty(0))
        b = stored.get("linear.bias", torch.zeros(W.shape[0]))
        if W.shape != (self.width, d_in) or b.shape != (self.width,):
            raise CheckpointError(
                f"{self.file.parent.name} is a Dense of {d_in} to {self.width}, and its file holds {list(W.shape)}. "
                "Copy or download it again."
            )
        return {"W": W.T.float(), "b": b.float()}


def _read(path: Path) -> Any:
    try:
        with open_file(path) as file:
            return parse_json(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name} cannot be read as JSON ({error}). Copy or download it again.") from error
