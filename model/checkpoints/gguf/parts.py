"""GGUF models in several files, as llama-gguf-split writes them: the first has the metadata, all have tensors."""

import re
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.gguf.header import Header, read_header
from headlight.model.checkpoints.gguf.tensors import read_tensors

NAME = re.compile(r"(.+-)(\d{5})(-of-)(\d{5})(\.gguf)")
MAX_PARTS = 1000


def parts_of(path: Path) -> tuple[Path, ...]:
    """The files of the model that a file is one of, the first one first.

    Raises:
        CheckpointError: one is missing, or the file is a part whose name does not tell the others'.
    """
    count = read_header(path).metadata.get("split.count", 1)
    if count in (0, 1):
        return (path,)
    match = NAME.fullmatch(path.name)
    if match is None or type(count) is not int or not 0 < count <= MAX_PARTS or int(match[4]) != count:
        raise CheckpointError(
            f"{path.name} is one of {count} parts of a model, whose names end as in model-00001-of-00003.gguf. "
            "Give all of them back these names."
        )
    parts = [path.with_name(f"{match[1]}{part:05}{match[3]}{match[4]}{match[5]}") for part in range(1, count + 1)]
    if missing := [part.name for part in parts if not part.is_file()]:
        raise CheckpointError(
            f"{path.name} is one of {count} parts, of which {missing[0]} is not beside it. Put it there."
        )
    return tuple(parts)


def whole_header(path: Path) -> Header:
    """The metadata of a model, and the tensors of all its parts.

    Raises:
        CheckpointError: a part is missing or damaged, or two of them hold a tensor of one name.
    """
    first, *others = [read_header(part) for part in parts_of(path)]
    tensors = dict(first.tensors)
    for header in others:
        if twice := tensors.keys() & header.tensors:
            raise CheckpointError(f"{min(twice)} is in two parts of {path.name}. Copy or download them again.")
        tensors |= header.tensors
    return replace(first, tensors=tensors)


def all_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of all parts by the names that they have in the files.

    Raises:
        CheckpointError: as `whole_header`.
    """
    return {name: tensor for part in parts_of(path) for name, tensor in read_tensors(part).items()}
