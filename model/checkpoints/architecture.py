"""Folders that transformers' save_pretrained writes, of any architecture: config.json and safetensors, read as views.

An architecture says how its config and its tensors' names translate. transformers' own config classes read
config.json, with its defaults and the spellings of older versions.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from headlight.model.base.checks import check_size
from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, shapes_of, skeleton
from headlight.model.checkpoints.heads import check_head
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.lora import is_adapter
from headlight.model.checkpoints.multimodal import KINDS, text_part, text_tensors
from headlight.model.checkpoints.quantization import refuse_quantised
from headlight.model.checkpoints.resemblance import likeness
from headlight.model.checkpoints.tensors import (
    check_depth,
    check_experts,
    check_layers,
    is_tied,
    model_type,
    read_config_file,
    read_model,
    taken,
    weight_files,
    write_folder,
)
from headlight.model.checkpoints.weight_map import Pieces, parameters
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer

UNEMBED = "lm_head.weight"
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
OLD_SIZES = {"hidden_size": "n_embed"}  # BLOOM's and Falcon's first configs
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",  # the same approximation under torch's name
    "gelu_fast": "gelu_new",  # and with its constants written out
    "silu": "silu",
    "swish": "silu",
    "quick_gelu": "quick_gelu",
}


@dataclass(frozen=True)
class Architecture:
    """How one of transformers' architectures translates.

    `settings(config)` are `TransformerConfig`'s fields. `pieces(cfg, config)` say where each parameter lies, under the
    tensors' names without `prefix`, which the model with a head puts before all of its body's. `keys` are what both
    read of a config. Tensors whose names
    match `ignored`, and that no piece names, are buffers, copies, or parts that have no share in the logits. `renamed`
    are patterns in names that older versions wrote, and what stands there now. `embedding` and `unembed` are one matrix
    where the config ties them, and so are the other `twins`. `part_keys` are the keys that are read of a text's part,
    where those of a whole model are others.
    """

    model_type: str
    settings: Callable[[Any], dict[str, Any]]
    pieces: Callable[[TransformerConfig, Any], Pieces]
    keys: Keys
    prefix: str = "model."
    ignored: str = r".*rotary_emb\.inv_freq"
    embedding: str = "embed_tokens.weight"
    unembed: str = UNEMBED
    twins: tuple[tuple[str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    part_keys: Keys | None = None

    @property
    def family(self) -> Family[TransformerConfig]:
        """The family of this architecture's folders."""
        return Family(self._recognises, partial(read, self), self._likeness)

    def names(self, raw: dict[str, Tensor], is_part: bool = False) -> dict[str, Tensor]:
        """A folder's tensors by the names that pieces have; with `is_part`, of a folder that holds others besides."""
        return plain_names(text_tensors(raw, self.unembed) if is_part else raw, self.prefix, self.renamed)

    def _recognises(self, path: Path) -> bool:
        kind = model_type(path)
        part = text_part(read_config_file(path)) if kind in KINDS else None
        return self.model_type == (kind if part is None else part.get("model_type"))

    def _likeness(self, names: Iterable[str]) -> float:
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # a second, which few need

        config = self.keys.of(CONFIG_MAPPING[self.model_type]())
        cfg = TransformerConfig(**self.settings(config))
        shallow = replace(cfg, n_layers=2, attn_types=cfg.attn_types and cfg.attn_types[:2])
        pieces = self.pieces(shallow, config)
        known = {name for piece in pieces.values() for name in piece.shapes}
        plain = (name.removeprefix(self.prefix) for name in names)
        return likeness({*plain} - {self.unembed}, known - {self.unembed})  # whether tied or not


def read(
    architecture: Architecture, folder: Path, settings: dict[str, Any], how: Opening
) -> Checkpoint[TransformerConfig]:
    """A folder's config and parameters, the latter as views of its files.

    Raises:
        CheckpointError: damaged files, or tensors that are not those that config.json asks for.
        ConfigError: settings in config.json that are not supported.
    """
    told = read_config_file(folder)
    part = text_part(told)
    keys = architecture.keys if part is None else architecture.part_keys or architecture.keys
    config, unread = read_config(architecture.model_type, told if part is None else part, keys, part is not None)
    embedding, unembed = architecture.embedding, architecture.unembed
    names = partial(architecture.names, is_part=part is not None)
    twins = ((embedding, unembed), *architecture.twins) if config.tie_word_embeddings else ()
    tensors = read_model(folder, names, unembed, twins)
    if is_adapter(folder) and embedding in tensors:
        config.vocab_size = len(tensors[embedding])  # which may have tokens more than its base's
    with translating(architecture.model_type):
        translated = architecture.settings(config)
    if translated.get("tie_word_embeddings"):
        translated["tie_word_embeddings"] = is_tied(tensors.get(unembed), tensors.get(embedding))
    cfg = TransformerConfig(**(translated | settings))
    if cfg.tie_word_embeddings:
        tensors.pop(unembed, None)
    check_depth(tensors, cfg.n_layers)
    check_experts(tensors, cfg.num_experts)
    with translating(architecture.model_type):
        pieces = architecture.pieces(cfg, config)
    check_head(told.get("architectures"), tensors, needed_by(pieces))
    state = filled(pieces, tensors, architecture.ignored, how, skeleton(cfg))
    note = f"the text's part of a {told['model_type']}, which reads images as well" if part else ""
    return Checkpoint(cfg, state, weight_files(folder), note, unread)


def filled(
    pieces: Pieces, tensors: dict[str, Tensor], ignored: str, how: Opening, skeleton: Module
) -> dict[str, Tensor]:
    """The state dict of a model without memory: the pieces' views of the tensors, but for those that are ignored.

    Raises:
        CheckpointError: tensors that are not those that the pieces need.
    """
    needed = needed_by(pieces)
    found = taken(without_ignored(tensors, ignored, needed), needed, how)
    return parameters(pieces, found, shapes_of(skeleton))


def needed_by(pieces: Pieces) -> dict[str, tuple[int, ...]]:
    """The tensors that pieces lie in, and their shapes."""
    return {name: shape for piece in pieces.values() for name, shape in piece.shapes.items()}


@contextmanager
def translating(kind: str) -> Iterator[None]:
    """Whatever goes wrong inside with a config's values, of which transformers checks some alone, as a ConfigError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ConfigError(
            f"config.json holds what a {kind} model cannot have ({type(error).__name__}: {error}). Compare it with the "
            "config.json of the model that this one was made of."
        ) from error


def read_config(kind: str, told: dict[str, Any], keys: Keys, is_part: bool = False) -> tuple[Any, tuple[str, ...]]:
    """The keys of config.json that an architecture goes by, as transformers reads them, and what nothing reads.

    Where it tells a part of a model, sizes may be left out: they are the defaults then.

    Raises:
        CheckpointError: it asks for more layers than any model has.
        ConfigError: it lacks a size, contradicts itself, or asks for a quantisation or for what is not supported.
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # a second, which few need

    refuse_quantised(told)
    config_class = CONFIG_MAPPING[kind]
    for size in SIZES:
        theirs = config_class.attribute_map.get(size, size)
        spelled = next((name for name in (theirs, size, OLD_SIZES.get(size)) if name in told), None)
        if spelled is None and is_part:
            continue
        if spelled is None:
            raise ConfigError(f"config.json lacks {theirs}, which a {kind} model has.")
        check_size(f"config.json's {spelled}", told[spelled])
        if size == "num_hidden_layers":
            check_layers(told[spelled])
    try:
        config = config_class.from_dict(deepcopy(told))
        if hasattr(config, "rope_parameters"):
            config.standardize_rope_params()  # as its model does once more: by then it has all of its keys
    except Exception as error:  # whatever a strict config class finds fault with
        reason = " ".join(str(error).split())
        raise ConfigError(f"config.json is not that of a {kind} model: {reason}") from error
    keys.check(told)
    return keys.of(config), tuple(keys.unread(told, config_class()))


def activation(named: object) -> str:
    """The activation function under our name.

    Raises:
        ConfigError: it is none of those that are supported.
    """
    if str(named) not in ACTIVATIONS:
        raise ConfigError(f"config.json asks for the activation {named!r}; supported are {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[str(named)]


def layers(
    cfg: TransformerConfig,
    of_layer: Callable[[str], Pieces],
    prefix: str = "layers.{}.",
    only: Iterable[int] | None = None,
) -> Pieces:
    """The pieces of all layers or some, of which `of_layer(prefix)` gives those of one, under names within it."""
    return {
        f"blocks.{layer}.{name}": piece
        for layer in (range(cfg.n_layers) if only is None else only)
        for name, piece in of_layer(prefix.format(layer)).items()
    }


def plain_names(raw: dict[str, Tensor], prefix: str, renamed: tuple[tuple[str, str], ...] = ()) -> dict[str, Tensor]:
    """The tensors without the prefix that a model with a head gives them, and as they are named today.

    Raises:
        CheckpointError: a tensor is there twice.
    """
    tensors: dict[str, Tensor] = {}
    for name, tensor in raw.items():
        plain = name.removeprefix(prefix)
        for old, new in renamed:
            plain = re.sub(old, new, plain)
        if plain in tensors:
            raise CheckpointError(f"The checkpoint holds {plain} with and without the prefix {prefix!r}.")
        tensors[plain] = tensor
    return tensors


def without_ignored(tensors: dict[str, Tensor], ignored: str, needed: Mapping[str, object]) -> dict[str, Tensor]:
    """The tensors without those whose names match `ignored`, unless they are needed."""
    return {name: tensor for name, tensor in tensors.items() if name in needed or not re.fullmatch(ignored, name)}


def save_folder(folder: Path, prefix: str, pieces: Pieces, model: Transformer, config: str) -> None:
    """Write parameters as transformers has them, and config.json; each file appears whole or not at all."""
    tensors = {piece.name: torch.empty(piece.shape) for piece in pieces.values()}
    state = model.state_dict()
    for name, piece in pieces.items():
        piece.view(tensors[piece.name]).copy_(state[name])
    write_folder(folder, {name if name == UNEMBED else prefix + name: each for name, each in tensors.items()}, config)
