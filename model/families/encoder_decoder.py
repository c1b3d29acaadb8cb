"""Encoder-decoders' folders that transformers' save_pretrained writes: config.json and safetensors, read as views."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.families.architecture import UNEMBED, filled, is_tied, plain_names, read_config
from headlight.model.families.family import Checkpoint, Family, Opening, seq2seq_skeleton
from headlight.model.families.pieces import Pieces
from headlight.model.families.tensors import check_depth, model_type, read_folder, weight_files
from headlight.model.files import read_json
from headlight.model.seq2seq_config import Seq2SeqConfig

SHARED = "shared.weight"
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")  # of the shared embedding


@dataclass(frozen=True)
class EncoderDecoder:
    """How one of transformers' encoder-decoders translates; as `Architecture`, of `Seq2SeqConfig`'s fields.

    Source and target have one embedding, which the output shares unless the file holds another matrix for it.
    """

    model_type: str
    settings: Callable[[Any], dict[str, Any]]
    pieces: Callable[[Seq2SeqConfig, Any], Pieces]
    prefix: str = ""
    ignored: str = ""

    @property
    def family(self) -> Family[Seq2SeqConfig]:
        """The family of this architecture's folders."""
        description = f"a Hugging Face {self.model_type} folder (config.json and safetensors)"
        return Family(description, lambda path: model_type(path) == self.model_type, partial(read, self))


def read(
    architecture: EncoderDecoder, folder: Path, settings: dict[str, Any], how: Opening
) -> Checkpoint[Seq2SeqConfig]:
    """A folder's config and parameters, the latter as views of its files where these hold that.

    Raises:
        CheckpointError: damaged files, or tensors that are not those that config.json asks for.
        ConfigError: settings in config.json that are not supported.
    """
    config = read_config(architecture.model_type, read_json(folder / "config.json"))
    tensors = plain_names(read_folder(folder), architecture.prefix)
    shared = {"shared_embeddings": "all" if _is_tied(tensors) else "inputs"}
    cfg = Seq2SeqConfig(**(architecture.settings(config) | shared | settings))
    check_depth(tensors, cfg.n_encoder_layers, cfg.n_decoder_layers)
    pieces = architecture.pieces(cfg, config)
    state = filled(pieces, tensors, architecture.ignored, how, seq2seq_skeleton(cfg))
    return Checkpoint(cfg, state, weight_files(folder))


def _is_tied(tensors: dict[str, Tensor]) -> bool:
    """Whether the output has no matrix of its own; copies are taken out, and the embedding comes under its one name."""
    for copy in COPIES:
        if (embedding := tensors.pop(copy, None)) is not None:
            tensors.setdefault(SHARED, embedding)
    tied = is_tied(tensors.get(UNEMBED), tensors.get(SHARED))
    if tied:
        tensors.pop(UNEMBED, None)
    return tied
