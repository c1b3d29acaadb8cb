"""Hugging Face folders, and GGUF files, which are read as the folders that they were made from.

A folder has config.json, and weights as safetensors or as torch.save wrote them, whole or in parts.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import check_regular, read_json
from headlight.model.checkpoints.experts import single_experts
from headlight.model.checkpoints.gguf import kinds
from headlight.model.checkpoints.gguf.header import SUFFIX, is_gguf
from headlight.model.checkpoints.gguf.parts import parts_of
from headlight.model.checkpoints.lora import (
    Base,
    Names,
    adapter_file,
    base_folder,
    is_adapter,
    merge,
    trained_class,
    with_trained_head,
)
from headlight.model.checkpoints.multimodal import KINDS, text_part
from headlight.model.checkpoints.quantization.methods import settings_of, with_matrices
from headlight.model.checkpoints.state_dicts import read_tensors, with_modern_names, without_wrappers
from headlight.model.checkpoints.tensors import is_finite, listed, refuse, refuse_values
from headlight.model.checkpoints.unknown import refuse_pointers, weights_in

INDEX = ".index.json"
WHOLE = ("model.safetensors", "pytorch_model.bin")  # each with an index where it is in parts; as transformers looks
T5 = ("t5", "mt5", "umt5")
T5_ALONE = [[kind.upper() + head] for kind in T5 for head in ("EncoderModel", "ForTokenClassification")]
T5_ENCODER = "t5_encoder"  # which config.json calls by its class alone


def weight_files(folder: Path) -> tuple[Path, ...]:
    """Return the files of weights of a Hugging Face folder: one file or its shards, and a LoRA's own.

    Raises:
        CheckpointError: there are none, one is missing, or the index is damaged or names a file outside the folder.
    """
    if is_gguf(folder):
        return parts_of(folder)
    return (*_shards(base_folder(folder)), *([adapter_file(folder)] if is_adapter(folder) else []))


def _shards(folder: Path) -> dict[Path, list[str]]:
    """The files, and which tensors the index says that each holds; nothing is said of a single file."""
    for name in WHOLE:
        single, index = folder / name, folder / f"{name}{INDEX}"
        if single.exists():
            check_regular(single)
            return {single: []}
        if index.is_file():
            return _indexed(index, single.suffix)
    refuse_pointers(folder)
    weights = weights_in(folder)
    if weights.endswith(SUFFIX) and "," not in weights:
        raise CheckpointError(
            f"The folder holds nothing for its config.json but {weights}. Open {folder.name}/{weights}."
        )
    raise CheckpointError(
        f"The folder holds neither {' nor '.join(WHOLE)} nor the index of their parts"
        f"{f', but {weights}' if weights else ''}, and no other format is read from a folder. Load the model in "
        "transformers (from_pretrained(folder)) and call save_pretrained(folder), which writes them."
    )


def _indexed(index: Path, suffix: str) -> dict[Path, list[str]]:
    shard_of = read_json(index, unique=True).get("weight_map")
    if not isinstance(shard_of, dict) or not shard_of:
        raise CheckpointError(f"{index.name} has no weight_map that says which file holds which tensor.")
    for name in shard_of.values():
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(suffix):
            raise CheckpointError(f"{index.name} names {name!r}; it may only name {suffix} files beside itself.")
    shards = {file: [name for name in shard_of if shard_of[name] == file] for file in sorted(set(shard_of.values()))}
    if missing := [file for file in shards if not (index.parent / file).exists()]:
        raise CheckpointError(
            f"The folder lacks {listed(missing)}, which {index.name} names. Copy or download it again."
        )
    return {index.parent / file: names for file, names in shards.items()}


def read_folder(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a Hugging Face folder, in one file or sharded; of a LoRA those of its base, and its own head.

    Raises:
        CheckpointError: a file is missing or damaged, two shards hold a tensor of the same name, or one lacks a tensor
            that the index says it holds.
    """
    if is_gguf(folder):
        return kinds.tensors_of(folder)
    tensors: dict[str, Tensor] = {}
    for file, names in _shards(base_folder(folder)).items():
        shard = read_tensors(file)
        index = f"pytorch_model.bin{INDEX}" if file.suffix == ".bin" else f"model.safetensors{INDEX}"
        refuse(f"lacks in {file.name} what {index} says is there:", (name for name in names if name not in shard))
        refuse("has in several files the tensors", tensors.keys() & shard.keys())
        tensors |= shard
    raw_config = read_json(base_folder(folder) / "config.json")
    matrices = single_experts(with_matrices(tensors, raw_config), raw_config.get("model_type"))
    return with_trained_head(folder, with_modern_names(without_wrappers(matrices)))


def is_quantised(folder: Path) -> bool:
    """Whether the config.json of a folder says that its weights are quantised.

    Raises:
        CheckpointError: it is no JSON object.
        ConfigError: what it says of the quantisation is none.
    """
    config = base_folder(folder) / "config.json"
    return config.is_file() and settings_of(read_json(config)) is not None


def stored_tensors(path: Path) -> list[Tensor]:
    """The tensors of a folder or file as they are stored, of which hardly any values are read.

    Raises:
        CheckpointError: as `read_folder`.
        ConfigError: the weights are quantised in a way that is not read.
    """
    config = base_folder(path) / "config.json"
    raw_config = read_json(config) if config.is_file() else {}
    tensors: dict[str, Tensor] = {}
    for file in weight_files(path) if path.is_dir() or is_gguf(path) else (path,):
        shapes_only = settings_of(raw_config) is None or file.suffix == ".safetensors"
        tensors |= read_tensors(file, shapes_only=shapes_only)
    return list(with_matrices(tensors, raw_config).values())


def read_model(
    folder: Path,
    names: Names,
    unembed: str,
    twins: tuple[tuple[str, str], ...],
    transposed: bool = False,
    inseparable: tuple[str, ...] = (),
) -> dict[str, Tensor]:
    """Read a folder's tensors with a LoRA merged in.

    Args:
        folder: a Hugging Face folder or an adapter's.
        names: renames the tensors.
        unembed: the unembedding's name.
        twins: pairs of names for one tensor; a file may have either, and the result has both. They are two tensors
            where the file or a LoRA makes them differ.
        transposed: as in `Base`.
        inseparable: as in `Base`.

    Raises:
        CheckpointError: as `read_folder`, or a tensor of the adapter has no place in its base.
        ConfigError: it is an adapter of a kind that is not computed here.
    """
    tensors = names(read_folder(folder))
    for one, other in twins:
        for name, copy in ((one, other), (other, one)):
            if name in tensors:
                tensors.setdefault(copy, tensors[name])
    if not is_adapter(folder):
        return tensors
    tied = next((pair for pair in twins if unembed in pair and unembed in tensors), ())
    if tied and not is_tied(*(tensors[name] for name in tied)):
        tied = ()
    base = Base(tensors, names, str(model_type(folder)), unembed, tied, transposed, inseparable)
    adapter = read_tensors(adapter_file(folder))
    refuse_values([name for name, tensor in adapter.items() if not is_finite(tensor)], adapter_file(folder).name)
    return merge(folder, base, adapter)


def is_tied(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether two tensors that the config ties are equal; a file may hold two different matrices.

    transformers decides the same way.
    """
    return one is None or other is None or one is other or torch.equal(one, other)


def read_config_file(folder: Path) -> dict[str, Any]:
    """Read config.json of a Hugging Face folder, or of a LoRA's base.

    Raises:
        CheckpointError: it is missing or no JSON object.
    """
    if is_gguf(folder):
        return kinds.config_of(folder)
    return read_json(base_folder(folder) / "config.json") | trained_class(folder)


def model_type(folder: Path) -> str | None:
    """Return `model_type` from a Hugging Face folder's config.json; None where there is no config.json.

    Raises:
        CheckpointError: config.json is no JSON object, or the folder is a LoRA whose base is not there.
    """
    if is_gguf(folder):
        return kinds.model_type_of(folder)
    config = base_folder(folder) / "config.json"
    return str(read_json(config).get("model_type")) if config.is_file() else None


def text_model_type(folder: Path) -> str | None:
    """Return `model_type`, of a model that reads images too that of its text part, or `T5_ENCODER`.

    Raises:
        CheckpointError: as `model_type`.
    """
    kind = model_type(folder)
    if kind in T5 and _is_encoder_alone(folder):
        return T5_ENCODER
    part = text_part(read_config_file(folder)) if kind in KINDS else None
    return kind if part is None else str(part.get("model_type"))


def _is_encoder_alone(folder: Path) -> bool:
    """Whether a T5 folder's class, or without one its tensors, are those of its encoder alone."""
    named = read_config_file(folder).get("architectures")
    if named:
        return named in T5_ALONE
    try:
        return not any(name.startswith(("decoder.", "transformer.decoder.")) for name in read_folder(folder))
    except CheckpointError:
        return False  # who reads the folder says why
