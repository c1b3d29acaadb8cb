"""LoRA folders, as peft writes them: a few small matrices that are added to those of a base, which lies elsewhere.

Source: Hu et al. 2021, "LoRA"; peft's LoraConfig and save_pretrained for the names.
"""

import re
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.errors import CheckpointError, ConfigError
from headlight.model.files import read_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
BEFORE = "base_model.model."  # every name of the base's modules
HALF = re.compile(r"(.+)\.lora_([AB])(?:\.default)?\.weight")
REMEDY = "Merge them in peft: merge_and_unload(), then save_pretrained(folder)."


def is_adapter(folder: Path) -> bool:
    """Whether a path is a folder of what peft trained, without the weights of the base."""
    whole = ("model.safetensors", "model.safetensors.index.json")
    return (folder / CONFIG).is_file() and not any((folder / name).is_file() for name in whole)


def base_folder(folder: Path) -> Path:
    """The folder that holds the base of an adapter, or of anything else that folder itself.

    Raises:
        CheckpointError: the base is not on this machine.
        ConfigError: it is an adapter of another kind than LoRA.
    """
    if not is_adapter(folder):
        return folder
    told = _config(folder)
    name = str(told.get("base_model_name_or_path"))
    for base in (folder / name, folder.parent / name):
        if (base / "config.json").is_file() and not is_adapter(base):
            return base
    raise CheckpointError(
        f"{folder.name} is a LoRA of {name!r}, and there is no such folder. Put that model's folder beside it, and "
        f"its path into {CONFIG} as base_model_name_or_path. {REMEDY}"
    )


def merge(folder: Path, base: dict[str, Tensor], adapter: dict[str, Tensor]) -> dict[str, Tensor]:
    """The base's tensors with the products of an adapter's halves added, and with what it holds whole in their place.

    Raises:
        CheckpointError: a tensor of the adapter has no place in the base.
        ConfigError: it is an adapter of another kind than LoRA.
    """
    told, merged, halves = _config(folder), dict(base), dict[str, dict[str, Tensor]]()
    for name, tensor in adapter.items():
        plain = name.removeprefix(BEFORE)
        if half := HALF.fullmatch(plain):
            halves.setdefault(half[1], {})[half[2]] = tensor
        else:
            merged[_place(plain.replace("modules_to_save.", ""), base)] = tensor
    for module, pair in halves.items():
        place = _place(f"{module}.weight", base)
        merged[place] = _added(told, module, base[place], pair)
    return merged


def _config(folder: Path) -> dict[str, Any]:
    told = read_json(folder / CONFIG)
    for name, allowed in (("peft_type", "LORA"), ("use_dora", False), ("lora_bias", False)):
        if told.get(name, allowed) not in (allowed, None):
            raise ConfigError(f"{CONFIG} sets {name} to {told[name]!r}; only {allowed!r} is supported. {REMEDY}")
    return told


def _place(name: str, base: dict[str, Tensor]) -> str:
    """The base's name of a tensor, with or without the prefix that a model with a head puts before it."""
    for each in (name, name.partition(".")[2]):
        if each in base:
            return each
    raise CheckpointError(f"The adapter holds {name}, which its base has not, so they do not belong together. {REMEDY}")


def _added(told: dict[str, Any], module: str, weight: Tensor, pair: dict[str, Tensor]) -> Tensor:
    """A matrix [out, in], or [in, out] with `fan_in_fan_out`, and the scaled product of both halves."""
    into, out = pair.get("A"), pair.get("B")
    if into is None or out is None or into.ndim != 2 or out.ndim != 2 or into.shape[0] != out.shape[1]:
        raise CheckpointError(f"The adapter's lora_A and lora_B of {module} do not make up a product.")
    turned = bool(told.get("fan_in_fan_out"))
    shape = (into.shape[1], out.shape[0]) if turned else (out.shape[0], into.shape[1])
    if weight.shape != shape:
        raise CheckpointError(f"The adapter's {module} is {list(shape)}, its base's {list(weight.shape)}.")
    product = out.float() @ into.float()
    return (weight.float() + _scale(told, module, len(into)) * (product.T if turned else product)).to(weight.dtype)


def _scale(told: dict[str, Any], module: str, rank: int) -> float:
    alphas = told.get("alpha_pattern") or {}
    alpha = next((alphas[key] for key in alphas if module == key or module.endswith(f".{key}")), told.get("lora_alpha"))
    if not isinstance(alpha, int | float):
        raise ConfigError(f"{CONFIG} sets lora_alpha to {alpha!r}; it has to be a number.")
    return alpha / (rank**0.5 if told.get("use_rslora") else rank)
