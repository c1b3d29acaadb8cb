"""What a family of checkpoints has to say: whether it knows a path, and how to read it."""

from collections.abc import Callable, Iterable
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
    """How a checkpoint is opened: what its matrices are to be kept in, and the host that hears how many bytes are done.

    "stored" keeps them as the files do.
    """

    dtype: DType = "stored"
    host: Host = HERE


@dataclass(frozen=True)
class Checkpoint(Generic[Config]):
    """A checkpoint as a config, the state dict that a model of that config takes, the files it is in, and a note on it.

    `unread` are the settings of its config file that nothing goes by, as "name = value".

    The tensors are views of the memory-mapped files wherever these hold them in the dtype that was asked for.
    """

    cfg: Config
    state: dict[str, Tensor]
    files: tuple[Path, ...]
    note: str = ""
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family(Generic[Config]):
    """One kind of checkpoint.

    `read(path, settings, how)` lets the caller's settings (names of the config's fields) override and complete what
    the checkpoint says. It raises CheckpointError if the files are damaged or their tensors are not those that the
    config asks for, and ConfigError if settings are missing, contradictory or not supported. `likeness(names)` is how
    much the names of some folder's tensors are those of this kind, from 0 to 1.
    """

    recognises: Callable[[Path], bool]
    read: Callable[[Path, dict[str, Any], Opening], Checkpoint[Config]]
    likeness: Callable[[Iterable[str]], float] = lambda names: 0.0


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
