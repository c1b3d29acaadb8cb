"""Read a checkpoint's tensors without copying them, check each of them, and write them.

A checkpoint is untrusted: no memory is allocated for sizes that it claims, no file outside its folder is opened except
for the base of a LoRA, and no code in it is run.
"""

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.file_copies import mappable
from headlight.model.base.files import read_json, reason, refuse_pointer, replacing_together
from headlight.model.checkpoints.family import Opening
from headlight.model.checkpoints.room import check_room, kept_in
from headlight.model.compute.quantised import converted, stored_bytes
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
    nbytes = sum(map(stored_bytes, tensors.values()))
    state, damaged, steps = dict[str, Tensor](), list[str](), Steps(how.host, nbytes)
    for name, tensor in tensors.items():
        state[name] = converted(tensor, kept_in(tensor, how.dtype))
        if (nbytes < LARGE or state[name] is not tensor) and not is_finite(state[name]):
            damaged.append(name)
        steps.add(stored_bytes(tensor))
    refuse_values(damaged, "The checkpoint")
    return state


def _check_named(tensors: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> None:
    refuse("lacks the tensors", (name for name in shapes if name not in tensors))
    refuse("has unexpected tensors", (name for name in tensors if name not in shapes))
    refuse(
        "has tensors of another shape than its config asks for:",
        (
            f"{name} is {list(tensors[name].shape)}, not {list(shape)}"
            for name, shape in shapes.items()
            if tuple(tensors[name].shape) != shape
        ),
    )
    refuse(
        "has tensors that are not float32, float16 or bfloat16:",
        (f"{name} is {_dtype(tensor)}" for name, tensor in tensors.items() if tensor.dtype not in FLOATS),
    )


def vectors_in_float32(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert everything but matrices to float32; only matrix products take half precision."""
    return {
        name: tensor if name.rpartition(".")[2].lstrip("_").startswith("W_") else tensor.float()
        for name, tensor in state.items()
    }


def write_folder(folder: Path, tensors: dict[str, Tensor], config: str, texts: Mapping[str, str] | None = None) -> None:
    """Write model.safetensors and config.json, and further texts by their names; a model of the same kind is replaced.

    Raises:
        CheckpointError: the folder holds a model of another kind, or another program's config.json.
    """
    kind, there = json.loads(config)["model_type"], folder / "config.json"
    if there.exists() and (before := read_json(there).get("model_type")) != kind:
        raise CheckpointError(f"{folder} holds a {before!r}, which a {kind!r} does not replace. Give another folder.")
    contents = {"config.json": config} | dict(texts or {})
    with replacing_together(*(folder / name for name in (*contents, "model.safetensors"))) as (*besides, weights):
        for beside, text in zip(besides, contents.values(), strict=True):
            beside.write_text(text, encoding="utf-8")
        save_file(tensors, weights, metadata={"format": "pt"})


def refuse_values(damaged: list[str], holder: str) -> None:
    """Refuse tensors that hold NaN or infinite values.

    Raises:
        CheckpointError: there are some.
    """
    refuse(
        "has NaN or infinite values in",
        damaged,
        "Nothing computed with them would mean anything: take an earlier checkpoint of that training, or copy or "
        "download the file again.",
        holder,
    )


def refuse(what: str, offenders: Iterable[str], next_step: str = "", holder: str = "The checkpoint") -> None:
    """Refuse tensors by their names, if there are any.

    Raises:
        CheckpointError: there are some.
    """
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
