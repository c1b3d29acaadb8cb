"""Reading the small files that lie beside a checkpoint's weights, and writing files that are whole or not there."""

import json
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from headlight.model.errors import CheckpointError

POINTER = b"version https://git-lfs.github.com/spec/"


def reason(error: Exception, path: Path) -> str:
    """What an error about a file says, with its name for its path, which is not for everybody who sees a page."""
    return str(error).replace(str(path), path.name)


def refuse_pointer(path: Path) -> None:
    """Refuse what lies in a repository's place for a large file where that was cloned without git-lfs.

    Raises:
        CheckpointError: the file is a pointer.
    """
    try:
        with path.open("rb") as file:
            is_pointer = file.read(len(POINTER)) == POINTER
    except OSError:  # whoever reads it says so
        return
    if is_pointer:
        raise CheckpointError(
            f"{path.name} is a Git LFS pointer and not the file itself: the repository was cloned without git-lfs. "
            "Install git-lfs and run `git lfs pull` in that folder."
        )


def read_torch(path: Path) -> Any:
    """What torch.save wrote, memory-mapped. Only tensors are unpickled, so that no code in the file is run.

    Raises:
        CheckpointError: the file is damaged, in torch's format of before 2020, or holds other objects.
    """
    refuse_pointer(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except pickle.UnpicklingError as error:  # whose text is pages on how to run the file's code
        raise CheckpointError(
            f"{path.name} cannot be read as a state dict: it holds other objects than tensors, such as a whole model "
            "that torch.save(model, path) wrote. Write it by torch.save(model.state_dict(), path)."
        ) from error
    except (OSError, RuntimeError, ValueError, EOFError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as a state dict: it is cut short, or not what torch.save writes today. "
            "Copy or download it again, or write it by torch.save(model.state_dict(), path)."
        ) from error


def read_json(path: Path, unique: bool = False) -> dict[str, Any]:
    """A JSON file that holds an object, in which with `unique` nothing may have a name twice.

    Raises:
        CheckpointError: the file is missing or holds something else.
    """
    refuse_pointer(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique if unique else None)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as JSON ({reason(error, path)}). Copy or download it again."
        ) from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} holds {type(content).__name__}; it has to hold a JSON object.")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that stands there twice Python would take the last without a word."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it names {name!r} twice")
        found[name] = value
    return found


PART = ".part"  # ends the name of a file that is being written


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to: when the block ends it takes its place, and when it fails it is removed.

    What lay there before stays whole until then, also for who has it memory-mapped. A link is replaced, not followed.
    """
    beside = path.with_name(f".{path.name}{PART}")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside.unlink(missing_ok=True)  # of a run that was killed; a link that lies there is not written through
    beside.touch(exist_ok=False)
    mode = beside.stat().st_mode
    try:
        yield beside
        beside.chmod(mode)  # as any new file's: safetensors leaves it to nobody but the owner to read
        with beside.open("rb+") as file:
            os.fsync(file.fileno())  # on the disk before its name is: a power cut, too, finds the old or the new one
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file that appears whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
