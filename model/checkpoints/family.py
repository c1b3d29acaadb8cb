"""A family of checkpoints: how its files are recognised and read."""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from headlight.model.nn.config import DType, TransformerConfig
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.host import HERE, Host

Config = TypeVar("Config", TransformerConfig, Seq2SeqConfig)


@dataclass(frozen=True)
class Opening:
    """Options of opening a checkpoint: the matrices' dtype ("stored": as in the files) and the receiver of progress."""

    dtype: DType = "stored"
    host: Host = HERE


@dataclass(frozen=True)
class Checkpoint(Generic[Config]):
    """A checkpoint's config, state dict and files, and a note on it.

    The tensors are views of the memory-mapped files where these have the requested dtype. `unread` are the settings
    in its config file that nothing uses, as "name = value".
    """

    cfg: Config
    state: dict[str, Tensor]
    files: tuple[Path, ...]
    note: str = ""
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Questions:
    """Settings that a checkpoint does not determine: required ones with their values, optional ones with defaults."""

    required: dict[str, tuple[object, ...]]
    optional: dict[str, object]
    n_layers: int


@dataclass(frozen=True)
class Family(Generic[Config]):
    """One kind of checkpoint.

    `model_type` is what the config.json of its folders names. A family of single files has none, and `recognises(path)`
    tells whether a file is one of its. `read(path, settings, how)` opens a checkpoint; the settings (names of config
    fields) override and complete its config file. It raises CheckpointError if the files are damaged or their tensors
    do not match the config, and ConfigError if settings are missing, contradictory or not supported. `likeness(names)`
    scores from 0 to 1 how well tensor names match this family. `questions(path, settings)` are what a file of it leaves
    open besides these settings.
    """

    model_type: str | None
    read: Callable[[Path, dict[str, Any], Opening], Checkpoint[Config]]
    likeness: Callable[[Iterable[str]], float] = lambda names: 0.0
    questions: Callable[[Path, Container[str]], Questions] | None = None
    recognises: Callable[[Path], bool] = lambda path: False


def shapes_of(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's parameters."""
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def skeleton(cfg: TransformerConfig) -> Transformer:
    """The model of a config with parameters that have shapes but no memory."""
    with torch.device("meta"):
        return Transformer(cfg).requires_grad_(False)


def seq2seq_skeleton(cfg: Seq2SeqConfig) -> Seq2SeqTransformer:
    """The encoder-decoder of a config with parameters that have shapes but no memory."""
    with torch.device("meta"):
        return Seq2SeqTransformer(cfg).requires_grad_(False)
