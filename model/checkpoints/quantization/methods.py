"""Choose a config.json's quantization method, and open tensors with each quantised matrix as one.

Source: the quantisers of transformers for the names; mlx-lm's convert for MLX's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.checkpoints.quantization import (
    awq,
    bitsandbytes,
    compressed_tensors,
    fp8,
    gptq,
    mlx,
    mxfp4,
    torchao,
)
from headlight.model.checkpoints.quantization.scheme import NEXT_STEP, OTHERWISE, Scheme, Settings

KEYS = ("quantization_config", "compression_config", "quantization")  # of transformers, of its older files, of MLX
MLX = "MLX's"
STORED = (torch.uint8, torch.int8, torch.int32, torch.uint32, torch.float8_e4m3fn, torch.float8_e5m2)


@dataclass(frozen=True)
class Method:
    """A quantization method: how its matrices are stored, and a check that refuses unsupported settings."""

    schemes: tuple[Scheme, ...]
    check: Callable[[Settings], None] = lambda settings: None


BITSANDBYTES = Method(bitsandbytes.SCHEMES)
METHODS: Mapping[str, Method] = {
    "mxfp4": Method(mxfp4.SCHEMES),
    "fp8": Method(fp8.SCHEMES),
    "fbgemm_fp8": Method(fp8.SCHEMES),
    "bitsandbytes": BITSANDBYTES,
    "bitsandbytes_4bit": BITSANDBYTES,
    "bitsandbytes_8bit": BITSANDBYTES,
    "gptq": Method(gptq.SCHEMES),
    "awq": Method(awq.SCHEMES),
    "compressed-tensors": Method(compressed_tensors.SCHEMES, compressed_tensors.check_formats),
    "torchao": Method(torchao.SCHEMES),
    MLX: Method(mlx.SCHEMES),
}


def check_quantisation(raw_config: Mapping[str, Any]) -> None:
    """Refuse a config.json whose weights are quantised in a way that is not read.

    Raises:
        ConfigError: they are; the message names it.
    """
    if (settings := settings_of(raw_config)) is not None:
        _method(settings).check(settings)


def with_matrices(tensors: dict[str, Tensor], raw_config: Mapping[str, Any]) -> dict[str, Tensor]:
    """A folder's tensors with each quantised matrix as one of them, which stays as it is stored.

    Raises:
        CheckpointError: what a matrix is made of is missing or has a wrong shape.
        ConfigError: the weights are quantised in a way that is not read.
    """
    if (settings := settings_of(raw_config)) is None:
        return tensors
    method = _method(settings)
    method.check(settings)
    for scheme in method.schemes:
        tensors = scheme.take(tensors, settings)
    if alone := [name for name, tensor in tensors.items() if name.endswith("weight") and tensor.dtype in STORED]:
        kind = str(tensors[alone[0]].dtype).removeprefix("torch.")
        raise CheckpointError(f"The folder holds {alone[0]} as {kind} without scales to dequantise it by. {NEXT_STEP}")
    return tensors


def settings_of(raw_config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Quantization settings of a config.json; None where the weights are not quantised.

    Raises:
        ConfigError: it is no JSON object.
    """
    key = next((key for key in KEYS if raw_config.get(key) not in (None, {}, False)), None)
    if key is None:
        return None
    if not isinstance(raw_config[key], dict):
        raise ConfigError(f"config.json sets {key} to {raw_config[key]!r:.60}, which does not tell how to dequantise.")
    return dict(raw_config[key])


def method_name(settings: Settings) -> str:
    """Name of a quantization method."""
    if settings.get("quant_method"):
        return str(settings["quant_method"])
    if settings.get("load_in_4bit") or settings.get("load_in_8bit"):  # of files from before methods had names
        return "bitsandbytes"
    return MLX if "group_size" in settings else "an unknown method"


def _method(settings: Settings) -> Method:
    name = method_name(settings)
    if name not in METHODS:
        raise ConfigError(f"The weights are quantised by {name:.60}, which is not read. {OTHERWISE}")
    return METHODS[name]
