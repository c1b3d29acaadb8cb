"""Decoder-only models of our own, of any config: a folder of config.json, model.safetensors and a tokenizer."""

import json
from pathlib import Path
from typing import Any

from headlight.model.base.files import read_json
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, shapes_of, skeleton
from headlight.model.checkpoints.own import WEIGHTS, config_of, save
from headlight.model.checkpoints.tensors import check_depth, read_safetensors, taken
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer

MODEL_TYPE = "headlight"


def read(folder: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[TransformerConfig]:
    """Read a folder's config, and its parameters as views of its file.

    Raises:
        CheckpointError: damaged files, or tensors that do not match config.json.
        ConfigError: settings that are missing, unknown or contradictory.
    """
    cfg = config_of(TransformerConfig, read_json(folder / "config.json") | settings)
    tensors = read_safetensors(folder / WEIGHTS)
    check_depth(tensors, cfg.n_layers)
    return Checkpoint(cfg, taken(tensors, shapes_of(skeleton(cfg)), how), (folder / WEIGHTS,))


FAMILY = Family(MODEL_TYPE, read)


def save_transformer(model: Transformer, folder: str | Path) -> None:
    """Write a model to a folder that `load` opens: config.json, model.safetensors, and the tokenizer if it has one.

    Args:
        model: the model.
        folder: is created if needed; a model of the same kind in it is replaced.
    """
    texts = dict[str, str]()
    if (tokenizer := model.tokenizer) is not None:
        settings = json.dumps(tokenizer.settings, indent=2) + "\n"
        texts = {"tokenizer.json": tokenizer.text, "tokenizer_config.json": settings}
    save(model, MODEL_TYPE, Path(folder), texts)
