"""Encoder-decoders of our own: a folder of config.json, model.safetensors and a tokenizer for each side."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from model.errors import CheckpointError, ConfigError, nearest
from model.families.family import Checkpoint, Family, seq2seq_skeleton
from model.families.tensors import check_tensors, model_type, read_safetensors
from model.files import read_json
from model.seq2seq import Seq2SeqTransformer
from model.seq2seq_config import Seq2SeqConfig

MODEL_TYPE = "headlight_seq2seq"
WEIGHTS = "model.safetensors"


def recognises(path: Path) -> bool:
    """Whether a path is a folder that `save_seq2seq` wrote."""
    return model_type(path) == MODEL_TYPE


def read(folder: Path, settings: dict[str, Any]) -> Checkpoint[Seq2SeqConfig]:
    """The folder's config and parameters, in the layout in which a product over all heads needs no copy.

    Raises:
        CheckpointError: damaged files, or tensors that are not those that config.json asks for.
        ConfigError: settings that are missing, unknown or contradictory.
    """
    cfg = _config(read_json(folder / "config.json") | settings)
    tensors = read_safetensors(folder / WEIGHTS)
    if cfg.n_encoder_layers + cfg.n_decoder_layers > len(tensors):  # before a loop of that length
        raise CheckpointError(
            f"config.json asks for {cfg.n_encoder_layers} and {cfg.n_decoder_layers} layers; the file holds "
            f"{len(tensors)} tensors."
        )
    skeleton = seq2seq_skeleton(cfg).state_dict()
    check_tensors(tensors, {name: tuple(tensor.shape) for name, tensor in skeleton.items()})
    state = {name: laid_out(name, tensor.float()) for name, tensor in tensors.items()}
    return Checkpoint(cfg, state, (folder / WEIGHTS,))


FAMILY = Family("an encoder-decoder that save_seq2seq wrote (config.json and safetensors)", recognises, read)


def laid_out(name: str, tensor: Tensor) -> Tensor:
    """W_Q, W_K, W_V [head, d_model, d_head] as views of [d_model, head, d_head]; everything else as it is."""
    if name.rsplit(".", 1)[-1] not in ("W_Q", "W_K", "W_V"):
        return tensor
    return tensor.transpose(0, 1).contiguous().transpose(0, 1)


def _config(settings: dict[str, Any]) -> Seq2SeqConfig:
    given = {name: value for name, value in settings.items() if name != "model_type"}
    allowed = [field.name for field in fields(Seq2SeqConfig)]
    for name in given:
        if name not in allowed:
            raise ConfigError(f"There is no setting {name!r}.{nearest(name, allowed)} They are {', '.join(allowed)}.")
    try:
        return Seq2SeqConfig(**given)
    except TypeError as error:
        raise ConfigError(f"config.json lacks settings ({str(error).split('missing ')[-1]}).") from error


def save_seq2seq(model: Seq2SeqTransformer, folder: str | Path) -> None:
    """Write what `load_seq2seq` opens: config.json, model.safetensors, and the tokenizers that the model has.

    Each file appears whole or not at all.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights, config = folder / "model.partial", folder / "config.partial"
    settings = {"model_type": MODEL_TYPE} | asdict(model.cfg)
    config.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    save_file(state, weights, metadata={"format": "pt"})
    weights.chmod(config.stat().st_mode)  # save_file's own leaves it to nobody but the owner to read
    weights.replace(folder / WEIGHTS)
    config.replace(folder / "config.json")
    for side, tokenizer in (("source", model.source_tokenizer), ("target", model.target_tokenizer)):
        if tokenizer is not None:
            tokenizer.save(folder / f"{side}_tokenizer.json")
