"""Folders in our own format: config.json with a config's fields, and model.safetensors."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from headlight.model.base.checks import check_names
from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.family import Config
from headlight.model.checkpoints.tensors import write_folder
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.nn.transformer import Transformer

WEIGHTS = "model.safetensors"


def config_of(kind: type[Config], settings: dict[str, Any]) -> Config:
    """Build a config from the settings in config.json.

    Raises:
        ConfigError: settings that are missing, unknown or contradictory.
    """
    arguments: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value  # JSON has no tuples
        for name, value in settings.items()
        if name != "model_type"
    }
    try:
        check_names(kind, arguments)
        return kind(**arguments)
    except TypeError as error:
        raise ConfigError(f"config.json lacks settings ({str(error).split('missing ')[-1]}).") from error
    except ConfigError as error:
        raise ConfigError(f"config.json: {error}") from error


def _non_defaults(cfg: TransformerConfig | Seq2SeqConfig) -> dict[str, Any]:
    """Return the settings that differ from their defaults."""
    settings, defaults = asdict(cfg), {field.name: field.default for field in fields(cfg)}
    return {name: value for name, value in settings.items() if value != defaults[name]}


def save(
    model: Transformer | Seq2SeqTransformer, model_type: str, folder: Path, texts: Mapping[str, str] | None = None
) -> None:
    """Write config.json, model.safetensors and further texts by their names; all are replaced, or none."""
    settings = {"model_type": model_type} | _non_defaults(model.cfg)
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    write_folder(folder, state, json.dumps(settings, indent=2) + "\n", texts)
