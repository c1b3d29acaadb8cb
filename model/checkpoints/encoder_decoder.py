"""Encoder-decoders' folders that transformers' save_pretrained writes: config.json and safetensors, read as views."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.architecture import UNEMBED, filled, needed_by, plain_names, read_config, translating
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, seq2seq_skeleton
from headlight.model.checkpoints.folders import is_tied, model_type, read_config_file, read_model, weight_files
from headlight.model.checkpoints.heads import check_language_model
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.lora import is_adapter
from headlight.model.checkpoints.tensors import check_depth
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

SHARED = "shared.weight"
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")  # of the shared embedding


@dataclass(frozen=True)
class EncoderDecoder:
    """One of transformers' encoder-decoders and its mapping; as `Architecture`, with the fields of `Seq2SeqConfig`.

    Source and target have one embedding, which the output shares unless the file holds another matrix for it.
    """

    model_type: str
    settings: Callable[[Any], dict[str, Any]]
    weight_map: Callable[[Seq2SeqConfig, Any], WeightMap]
    keys: Keys
    prefix: str = ""
    ignored: str = ""

    @property
    def family(self) -> Family[Seq2SeqConfig]:
        """The family of this architecture's folders."""
        return Family(lambda path: model_type(path) == self.model_type, partial(read, self))


def read(
    architecture: EncoderDecoder, folder: Path, settings: dict[str, Any], how: Opening
) -> Checkpoint[Seq2SeqConfig]:
    """Read a folder's config, and its parameters as views of its files where these hold them.

    Raises:
        CheckpointError: damaged files, or tensors that do not match config.json.
        ConfigError: settings in config.json that are not supported.
    """
    raw_config = read_config_file(folder)
    if raw_config.get("is_encoder_decoder") is False:  # name an encoder alone as such, not as a wrong setting
        check_language_model(raw_config.get("architectures"), (), (UNEMBED,))
    config, unread = read_config(architecture.model_type, raw_config, architecture.keys)
    names = partial(plain_names, prefix=architecture.prefix)
    twins = ((SHARED, UNEMBED),) if config.tie_word_embeddings else ()
    tensors = read_model(folder, lambda raw: _one_embedding(names(raw)), UNEMBED, twins, inseparable=(SHARED,))
    if is_adapter(folder) and SHARED in tensors:
        config.vocab_size = len(tensors[SHARED])  # which may have tokens more than its base's
    tied = bool(twins) and is_tied(tensors.get(SHARED), tensors.get(UNEMBED))
    if tied:
        tensors.pop(UNEMBED, None)
    shared = {"shared_embeddings": "all" if tied else "inputs"}
    with translating(architecture.model_type):
        cfg = Seq2SeqConfig(**(architecture.settings(config) | shared | settings))
        check_depth(tensors, cfg.n_encoder_layers, cfg.n_decoder_layers)
        weight_map = architecture.weight_map(cfg, config)
    check_language_model(raw_config.get("architectures"), tensors, needed_by(weight_map))
    state = filled(weight_map, tensors, architecture.ignored, how, seq2seq_skeleton(cfg))
    return Checkpoint(cfg, state, weight_files(folder), unread=unread)


def _one_embedding(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Merge the copies of the embedding that source and target share into one tensor.

    Raises:
        CheckpointError: source and target have different embeddings.
    """
    for copy in COPIES:
        if (embedding := tensors.pop(copy, None)) is not None and not is_tied(
            embedding, tensors.setdefault(SHARED, embedding)
        ):
            raise CheckpointError(
                f"The file holds two different matrices as {copy} and {SHARED}; only models whose source and target "
                "have one embedding can be opened."
            )
    return tensors
