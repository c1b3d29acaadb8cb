"""Files of tensors by name, by safetensors or torch.save, and the wrappers around the tensors in them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.torch_files import Unread, read_torch
from headlight.model.checkpoints.gguf.header import is_gguf
from headlight.model.checkpoints.gguf.tensors import read_tensors as read_gguf
from headlight.model.checkpoints.tensors import listed, read_safetensors

PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
SUFFIXES = (".safetensors", *PICKLES)
HOLDERS = ("model", "state_dict", "model_state_dict")  # first of the names by which a training keeps its state dict
WRAPPERS = ("module.", "_orig_mod.")  # of DataParallel and torch.compile
PREFIXES = (*WRAPPERS, "model.", "transformer.")
BEFORE = (
    (re.compile(r"\.gamma$"), ".weight"),
    (re.compile(r"(?<!act_fn)\.beta$"), ".bias"),
)  # of norms in the first files


@dataclass(frozen=True)
class StateDict:
    """A file's tensors by name, its other entries, and a description of the wrappers that were removed."""

    tensors: dict[str, Tensor]
    beside: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def read_tensors(path: Path, *, shapes_only: bool = False) -> dict[str, Tensor]:
    """The tensors of one file by the names that they have in it, memory-mapped; no code in the file is run.

    Raises:
        CheckpointError: the file is missing, damaged or holds something else.
    """
    if is_gguf(path):
        return read_gguf(path, shapes_only=shapes_only)
    return read_state_dict(path, shapes_only=shapes_only).tensors


def read_state_dict(path: Path, *, shapes_only: bool = False) -> StateDict:
    """A file's state dict, which may be the whole of it or one value in it, beside those of a training.

    Raises:
        CheckpointError: the file is missing, damaged or holds no state dict.
    """
    if path.suffix not in PICKLES:
        return StateDict(read_safetensors(path, shapes_only=shapes_only))
    content = read_torch(path, shapes_only=shapes_only)
    if not isinstance(content, dict):
        what = "a pickled object, such as a whole model" if isinstance(content, Unread) else type(content).__name__
        raise CheckpointError(f"{path.name} holds no state dict but {what}. Save model.state_dict() alone.")
    if _is_state_dict(content):
        return StateDict(_tensors(content))
    state_dicts = [name for name in sorted(content, key=_holds_first) if _is_state_dict(content[name])]
    named = [name for name in state_dicts if name in HOLDERS]
    if len(state_dicts) != 1 and not named:
        raise CheckpointError(
            f"{path.name} holds no state dict but {listed(list(map(str, content)))}. Save model.state_dict() alone, or "
            f"under the name {HOLDERS[0]!r}."
        )
    name = (named or state_dicts)[0]
    beside = {key: value for key, value in content.items() if key != name}
    return StateDict(_tensors(content[name]), beside, f"under {name!r} in its file")


def _holds_first(name: object) -> int:
    return HOLDERS.index(name) if name in HOLDERS else len(HOLDERS)


def _is_state_dict(value: object) -> bool:
    return isinstance(value, dict) and any(isinstance(each, Tensor) for each in value.values()) and not _others(value)


def _others(content: Mapping[Any, object]) -> list[str]:
    return [
        str(name)
        for name, value in content.items()
        if not (isinstance(name, str) and (isinstance(value, Tensor) or name.endswith("_extra_state")))
    ]


def _tensors(content: Mapping[str, object]) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in content.items() if isinstance(value, Tensor)}


def without_shared(tensors: dict[str, Tensor], prefixes: tuple[str, ...]) -> tuple[dict[str, Tensor], str]:
    """The tensors without the prefixes that all their names begin with, and those prefixes."""
    taken_off = ""
    while prefix := next((each for each in prefixes if tensors and all(map(_begins(each), tensors))), ""):
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
        taken_off += prefix
    return tensors, taken_off


def note_of(state_dict: StateDict, prefix: str) -> str:
    """Note on the wrappers removed to reach a file's tensors; empty where there were none."""
    return "; ".join(filter(None, (state_dict.note, prefix and f"names without {prefix!r}")))


def _begins(prefix: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(prefix) and name != prefix


def without_wrappers(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors by the names that they had before DataParallel or torch.compile was put around the model."""
    return without_shared(tensors, WRAPPERS)[0]


def with_modern_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors by the names that norms' gains and biases have today."""
    modern = dict[str, Tensor]()
    for name, tensor in tensors.items():
        for pattern, replacement in BEFORE:
            name = pattern.sub(replacement, name)
        if name in modern:
            raise CheckpointError(f"The checkpoint holds {name} twice, once by its name of before (gamma, beta).")
        modern[name] = tensor
    return modern
