"""Encoder-decoders of our own: a folder of config.json, model.safetensors and a tokenizer for each side."""

from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.base.files import read_json
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, seq2seq_skeleton, shapes_of
from headlight.model.checkpoints.own import WEIGHTS, config_of, save
from headlight.model.checkpoints.tensors import check_depth, read_safetensors, taken
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

MODEL_TYPE = "headlight_seq2seq"


def read(folder: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[Seq2SeqConfig]:
    """The folder's config and parameters, in the layout in which a product over all heads needs no copy.

    Raises:
        CheckpointError: damaged files, or tensors that are not those that config.json asks for.
        ConfigError: settings that are missing, unknown or contradictory.
    """
    cfg = config_of(Seq2SeqConfig, read_json(folder / "config.json") | settings)
    tensors = read_safetensors(folder / WEIGHTS)
    check_depth(tensors, cfg.n_encoder_layers, cfg.n_decoder_layers)
    state = taken(tensors, shapes_of(seq2seq_skeleton(cfg)), how)
    return Checkpoint(cfg, {name: laid_out(name, each) for name, each in state.items()}, (folder / WEIGHTS,))


FAMILY = Family(MODEL_TYPE, read)


def laid_out(name: str, tensor: Tensor) -> Tensor:
    """W_Q, W_K, W_V [head, d_model, d_head] as views of [d_model, head, d_head]; everything else as it is."""
    if name.rsplit(".", 1)[-1] not in ("W_Q", "W_K", "W_V"):
        return tensor
    return tensor.transpose(0, 1).contiguous().transpose(0, 1)


def save_seq2seq(model: Seq2SeqTransformer, folder: str | Path) -> None:
    """Write a model to a folder that `load_seq2seq` opens: config.json, model.safetensors, and its tokenizers.

    Args:
        model: the model.
        folder: is created if needed; a model of the same kind in it is replaced.
    """
    sides = {"source": model.source_tokenizer, "target": model.target_tokenizer}
    texts = {f"{side}_tokenizer.json": each.text for side, each in sides.items() if each is not None}
    save(model, MODEL_TYPE, Path(folder), texts)
