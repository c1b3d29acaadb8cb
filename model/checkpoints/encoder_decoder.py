"""Encoder-decoders' folders that transformers' save_pretrained writes: config.json and safetensors, read as views."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.architecture import UNEMBED, filled, needed_by, plain_names, read_config, translating
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, seq2seq_skeleton
from headlight.model.checkpoints.folders import (
    is_tied,
    read_config_file,
    read_folder,
    read_model,
    weight_files,
)
from headlight.model.checkpoints.heads import check_language_model
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.lora import is_adapter
from headlight.model.checkpoints.seq2seq_heads import has_other_head, seq2seq_head
from headlight.model.checkpoints.tensors import check_depth
from headlight.model.checkpoints.weight_map import WeightMap, table
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

SHARED = "shared.weight"
BIAS = "final_logits_bias"
VERSIONS = r"(encoder|decoder)\.version"  # of fairseq, in files that were made of its own
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
        return Family(self.model_type, partial(read, self))


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
    names = partial(_names, architecture.prefix)
    raw = read_folder(folder)
    stored, prefix = names(raw), architecture.prefix
    head = seq2seq_head(raw_config, stored, bool(prefix) and not any(name.startswith(prefix) for name in raw))
    if raw_config.get("tie_word_embeddings") is False and head is None:  # which T5's config class overrides
        check_language_model(raw_config.get("architectures"), stored, (UNEMBED,))
    twins = ((SHARED, UNEMBED),) if config.tie_word_embeddings and head is None else ()
    apart = not config.tie_word_embeddings and _are_apart(stored)
    merged = _own_embeddings if apart else one_embedding
    tensors = read_model(folder, lambda raw: merged(names(raw)), UNEMBED, twins, inseparable=(SHARED,))
    if is_adapter(folder) and SHARED in tensors:
        config.vocab_size = len(tensors[SHARED])  # which may have tokens more than its base's
    tied = bool(twins) and is_tied(tensors.get(SHARED), tensors.get(UNEMBED))
    if tied:
        tensors.pop(UNEMBED, None)
    with translating(architecture.model_type):
        translated = architecture.settings(config)
        translated["shared_embeddings"] = "none" if apart else "all" if tied else "inputs"
        if head is not None:
            translated = head.applied(translated)
        elif BIAS not in tensors:  # a buffer of zeros, which some files leave out
            translated["output_bias"] = False
        cfg = Seq2SeqConfig(**(translated | settings))
        check_depth(tensors, cfg.n_encoder_layers, cfg.n_decoder_layers)
        weight_map = architecture.weight_map(cfg, config)
    if apart:
        weight_map = {
            name: replace(each, name=COPIES[1]) if each.name == SHARED else each for name, each in weight_map.items()
        }
        weight_map["encoder.embed.W_E"] = table(COPIES[0], cfg.d_vocab, cfg.d_model)
    if head is None:
        check_language_model(raw_config.get("architectures"), tensors, needed_by(weight_map))
    else:
        weight_map = head.mapped(weight_map, cfg)
    state = filled(weight_map, tensors, f"{VERSIONS}|{architecture.ignored}", how, seq2seq_skeleton(cfg))
    return Checkpoint(cfg, state, weight_files(folder), unread=unread)


def _names(prefix: str, raw: dict[str, Tensor]) -> dict[str, Tensor]:
    """A folder's tensors without the prefix of their body."""
    tensors = plain_names(raw, prefix)
    return plain_names(tensors, "transformer.") if has_other_head(tensors) else tensors


def _are_apart(tensors: Mapping[str, Tensor]) -> bool:
    """Whether source and target have different embeddings, as a model has that ties nothing."""
    source, target = (tensors.get(name) for name in COPIES)
    return source is not None and target is not None and not is_tied(source, target)


def _own_embeddings(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors without a shared embedding, which nothing reads where both sides have their own."""
    return {name: tensor for name, tensor in tensors.items() if name != SHARED}


def one_embedding(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
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
