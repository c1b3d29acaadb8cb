"""Read a checkpoint's tensors without copying them, check each of them, and write them.

A checkpoint is untrusted: no memory is allocated for sizes that it claims, no file outside its folder is opened except
for the base of a LoRA, and no code in it is run.
"""

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.file_copies import mappable
from headlight.model.base.files import check_regular, read_json, reason, refuse_pointer, replacing
from headlight.model.checkpoints.family import Opening
from headlight.model.checkpoints.lora import Base, Names, adapter_file, base_folder, is_adapter, merge
from headlight.model.checkpoints.room import check_room, kept_in
from headlight.model.checkpoints.unknown import refuse_pointers, weights_in
from headlight.model.compute.read_ahead import LARGE
from headlight.model.runs.host import Steps

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
MAX_LAYERS = 2**16
MAX_NAMED = 5  # how many offending tensors a message names


def read_safetensors(path: Path, *, shapes_only: bool = False) -> dict[str, Tensor]:
    """Read a safetensors file as views of its private memory map, so that writing to a tensor never reaches the file.

    A file that cannot be mapped is copied first (`file_copies`), except with `shapes_only`: the values of those tensors
    must not be read.

    Raises:
        CheckpointError: the file is missing, cut short or not a safetensors file.
    """
    refuse_pointer(path)
    try:
        with nullcontext(path) if shapes_only else mappable(path) as at, safe_open(at, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as safetensors ({reason(error, path)}). It may be half written or cut short: "
            "copy or download it again."
        ) from error


def weight_files(folder: Path) -> tuple[Path, ...]:
    """Return the safetensors files of a Hugging Face folder: one file or its shards, and a LoRA's own.

    Raises:
        CheckpointError: there are none, one is missing, or the index is damaged or names a file outside the folder.
    """
    return (*_shards(base_folder(folder)), *([adapter_file(folder)] if is_adapter(folder) else []))


def _shards(folder: Path) -> dict[Path, list[str]]:
    """The files with the tensor names that the index lists for each; an empty list for a single file."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.exists():
        check_regular(single)
        return {single: []}
    if not index.is_file():
        refuse_pointers(folder)
        others = weights_in(folder)
        gguf = f", gguf_file={others.split(', ')[0]!r}" if ".gguf" in others else ""
        raise CheckpointError(
            f"The folder holds neither {single.name} nor {index.name}{f', but {others}' if others else ''}, and no "
            f"other format is read. Load the model in transformers (from_pretrained(folder{gguf})) and call "
            "save_pretrained(folder), which writes them."
        )
    shard_of = read_json(index, unique=True).get("weight_map")
    if not isinstance(shard_of, dict) or not shard_of:
        raise CheckpointError(f"{index.name} has no weight_map that says which file holds which tensor.")
    for name in shard_of.values():
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise CheckpointError(f"{index.name} names {name!r}; it may only name safetensors files beside itself.")
    shards = {file: [name for name in shard_of if shard_of[name] == file] for file in sorted(set(shard_of.values()))}
    if missing := [file for file in shards if not (folder / file).exists()]:
        raise CheckpointError(
            f"The folder lacks {listed(missing)}, which {index.name} names. Copy or download it again."
        )
    return {folder / file: names for file, names in shards.items()}


def read_folder(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a Hugging Face folder, in one file or sharded; of a LoRA those of its base.

    Raises:
        CheckpointError: a file is missing or damaged, two shards hold a tensor of the same name, or one lacks a tensor
            that the index says it holds.
    """
    tensors: dict[str, Tensor] = {}
    for file, names in _shards(base_folder(folder)).items():
        shard = read_safetensors(file)
        _refuse(f"lacks in {file.name} what its index says is there:", (name for name in names if name not in shard))
        _refuse("has in several files the tensors", tensors.keys() & shard.keys())
        tensors |= shard
    return tensors


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
    adapter = read_safetensors(adapter_file(folder))
    _refuse_values([name for name, tensor in adapter.items() if not is_finite(tensor)], adapter_file(folder).name)
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
    return read_json(base_folder(folder) / "config.json")


def model_type(folder: Path) -> str | None:
    """Return `model_type` from a Hugging Face folder's config.json; None where there is no config.json.

    Raises:
        CheckpointError: config.json is no JSON object, or the folder is a LoRA whose base is not there.
    """
    config = base_folder(folder) / "config.json"
    return str(read_json(config).get("model_type")) if config.is_file() else None


def check_depth(tensors: Mapping[str, Tensor], *n_layers: int) -> None:
    """Refuse more layers, over all stacks, than there are tensors, before a loop of that length.

    Raises:
        CheckpointError: there are more layers than tensors.
    """
    if sum(n_layers) > len(tensors):
        counts = " and ".join(map(str, n_layers))
        raise CheckpointError(f"config.json asks for {counts} layers; the checkpoint holds {len(tensors)} tensors.")


def check_layers(n_layers: int) -> None:
    """Refuse more layers than any model has, before a config allocates lists of that length.

    Raises:
        CheckpointError: there are more.
    """
    if n_layers > MAX_LAYERS:
        raise CheckpointError(f"config.json asks for {n_layers} layers; at most {MAX_LAYERS} are read.")


def check_experts(tensors: Mapping[str, Tensor], n_experts: int | None) -> None:
    """Refuse a number of experts that matches no tensor's rows, before a loop of that length.

    Raises:
        CheckpointError: there is none.
    """
    if n_experts is not None and not any(tensor.ndim and len(tensor) == n_experts for tensor in tensors.values()):
        raise CheckpointError(
            f"config.json asks for {n_experts} experts; no tensor of the checkpoint has as many rows."
        )


def taken(tensors: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], how: Opening) -> dict[str, Tensor]:
    """Check a checkpoint's tensors against the config's shapes and convert them to the model's dtype.

    All values are checked for NaN and infinity, except those of a large model that stay in its files: a forward pass
    checks these.

    Raises:
        CheckpointError: missing or unexpected names, a wrong shape or dtype, or a NaN or infinite value.
        TooLargeError: the converted tensors do not fit in memory.
    """
    _check_named(tensors, shapes)
    check_room(tensors.values(), how.dtype)
    nbytes = sum(tensor.nbytes for tensor in tensors.values())
    converted, damaged, steps = dict[str, Tensor](), list[str](), Steps(how.host, nbytes)
    for name, tensor in tensors.items():
        converted[name] = tensor.to(kept_in(tensor, how.dtype))
        if (nbytes < LARGE or converted[name] is not tensor) and not is_finite(tensor):
            damaged.append(name)
        steps.add(tensor.nbytes)
    _refuse_values(damaged, "The checkpoint")
    return converted


def _check_named(tensors: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> None:
    _refuse("lacks the tensors", (name for name in shapes if name not in tensors))
    _refuse("has unexpected tensors", (name for name in tensors if name not in shapes))
    _refuse(
        "has tensors of another shape than its config asks for:",
        (
            f"{name} is {list(tensors[name].shape)}, not {list(shape)}"
            for name, shape in shapes.items()
            if tuple(tensors[name].shape) != shape
        ),
    )
    _refuse(
        "has tensors that are not float32, float16 or bfloat16:",
        (f"{name} is {_dtype(tensor)}" for name, tensor in tensors.items() if tensor.dtype not in FLOATS),
    )


def vectors_in_float32(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert everything but matrices to float32; only matrix products take half precision."""
    return {
        name: tensor if name.rpartition(".")[2].lstrip("_").startswith("W_") else tensor.float()
        for name, tensor in state.items()
    }


def write_folder(folder: Path, tensors: dict[str, Tensor], config: str) -> None:
    """Write model.safetensors and config.json, each atomically; a model of the same kind is replaced.

    Raises:
        CheckpointError: the folder holds a model of another kind, or another program's config.json.
    """
    kind, there = json.loads(config)["model_type"], folder / "config.json"
    if there.exists() and (before := read_json(there).get("model_type")) != kind:
        raise CheckpointError(f"{folder} holds a {before!r}, which a {kind!r} does not replace. Give another folder.")
    with replacing(folder / "config.json") as settings, replacing(folder / "model.safetensors") as weights:
        settings.write_text(config, encoding="utf-8")
        save_file(tensors, weights, metadata={"format": "pt"})


def _refuse_values(damaged: list[str], holder: str) -> None:
    _refuse(
        "has NaN or infinite values in",
        damaged,
        "Nothing computed with them would mean anything: take an earlier checkpoint of that training, or copy or "
        "download the file again.",
        holder,
    )


def _refuse(what: str, offenders: Iterable[str], next_step: str = "", holder: str = "The checkpoint") -> None:
    if names := list(offenders):
        raise CheckpointError(f"{holder} {what} {listed(names)}. {next_step}".rstrip())


def listed(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def is_finite(tensor: Tensor) -> bool:
    """Whether no value is NaN or infinite.

    A finite sum proves it, four times faster than the minimum and maximum, which are NaN if any value is; they decide
    where the sum of finite values overflows.
    """
    return math.isfinite(tensor.sum()) or all(math.isfinite(end) for end in tensor.aminmax())
