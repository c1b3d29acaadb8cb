"""Encoder-decoders' folders that transformers' save_pretrained writes: config.json and safetensors, read as views."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
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
from headlight.model.checkpoints.heads import MULTI_LABEL, check_language_model, label_names
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.lora import is_adapter
from headlight.model.checkpoints.tensors import check_depth
from headlight.model.checkpoints.weight_map import WeightMap, linear, vector
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

SHARED = "shared.weight"
VERSIONS = r"(encoder|decoder)\.version"  # of fairseq, in files that were made of its own
CLASSIFIER = "classification_head."
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
    stored = names(read_folder(folder))
    is_classifier = any(name.startswith(CLASSIFIER) for name in stored)
    if raw_config.get("tie_word_embeddings") is False and not is_classifier:  # which T5's config class overrides
        check_language_model(raw_config.get("architectures"), stored, (UNEMBED,))
    twins = ((SHARED, UNEMBED),) if config.tie_word_embeddings and not is_classifier else ()
    tensors = read_model(folder, lambda raw: one_embedding(names(raw)), UNEMBED, twins, inseparable=(SHARED,))
    if is_adapter(folder) and SHARED in tensors:
        config.vocab_size = len(tensors[SHARED])  # which may have tokens more than its base's
    tied = bool(twins) and is_tied(tensors.get(SHARED), tensors.get(UNEMBED))
    if tied:
        tensors.pop(UNEMBED, None)
    shared = {"shared_embeddings": "all" if tied else "inputs"}
    with translating(architecture.model_type):
        of_labels = _classifier_settings(raw_config, tensors) if is_classifier else {}
        cfg = Seq2SeqConfig(**(architecture.settings(config) | shared | of_labels | settings))
        check_depth(tensors, cfg.n_encoder_layers, cfg.n_decoder_layers)
        weight_map = architecture.weight_map(cfg, config)
    if is_classifier:
        body = {name: weight for name, weight in weight_map.items() if not name.startswith("unembed.")}
        weight_map = body | _classifier(cfg)
    else:
        check_language_model(raw_config.get("architectures"), tensors, needed_by(weight_map))
    state = filled(weight_map, tensors, f"{VERSIONS}|{architecture.ignored}", how, seq2seq_skeleton(cfg))
    return Checkpoint(cfg, state, weight_files(folder), unread=unread)


def _names(prefix: str, raw: dict[str, Tensor]) -> dict[str, Tensor]:
    """A folder's tensors without the prefix of their body."""
    tensors = plain_names(raw, prefix)
    return plain_names(tensors, "transformer.") if any(name.startswith(CLASSIFIER) for name in tensors) else tensors


def _classifier_settings(raw_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """What a classifier has in place of a language model's outputs."""
    labels = tensors.get(f"{CLASSIFIER}out_proj.weight", torch.empty(0))
    return {
        "labels": label_names(raw_config, len(labels)),
        "multi_label": raw_config.get("problem_type") == MULTI_LABEL,
        "output_bias": False,
        "logits_scale": 1.0,
    }


def _classifier(cfg: Seq2SeqConfig) -> WeightMap:
    d_model, n_labels = cfg.d_model, len(cfg.labels)
    return {
        "unembed.W": linear(f"{CLASSIFIER}dense.weight", d_model, d_model),
        "unembed.b": vector(f"{CLASSIFIER}dense.bias", d_model),
        "unembed.W_U": linear(f"{CLASSIFIER}out_proj.weight", d_model, n_labels),
        "unembed.b_U": vector(f"{CLASSIFIER}out_proj.bias", n_labels),
    }


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
