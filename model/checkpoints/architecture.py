"""Read folders that transformers' save_pretrained wrote: config.json, and safetensors as views.

An `Architecture` says how its config and tensor names translate. transformers' own config classes parse config.json,
with its defaults and the spellings of older versions.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from headlight.model.base.checks import check_size
from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, shapes_of, skeleton
from headlight.model.checkpoints.folders import (
    is_tied,
    read_config_file,
    read_folder,
    read_model,
    weight_files,
)
from headlight.model.checkpoints.gguf.header import is_gguf
from headlight.model.checkpoints.heads import (
    Head,
    has_own_heads,
    has_value_head,
    head_of,
    value_head,
    without_other_prefix,
    without_own_heads,
)
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.lora import is_adapter
from headlight.model.checkpoints.multimodal import note, text_part, text_tensors
from headlight.model.checkpoints.pooling import is_sentence_encoder, with_sentence
from headlight.model.checkpoints.quantization.methods import check_quantisation
from headlight.model.checkpoints.resemblance import likeness
from headlight.model.checkpoints.tensors import check_depth, check_experts, check_layers, taken, write_folder
from headlight.model.checkpoints.weight_map import WeightMap, parameters
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer

UNEMBED = "lm_head.weight"
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
OLD_SIZES = {"hidden_size": "n_embed"}  # BLOOM's and Falcon's first configs
ACTIVATIONS = {
    "relu": "relu",
    "relu2": "relu2",
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
    """Translate one of transformers' architectures.

    Attributes:
        model_type: transformers' name of it in config.json.
        settings: translates a config to the fields of `TransformerConfig`.
        weight_map: maps parameter names to checkpoint tensors, named without `prefix`.
        keys: the config keys that both of them read.
        prefix: what a model with a head puts before the tensor names of its body.
        ignored: pattern of tensor names to skip: buffers, copies, and parts that do not reach the logits.
        embedding: name of the embedding; the same matrix as `unembed` where the config ties them.
        unembed: name of the unembedding.
        twins: further pairs of names of tied tensors.
        renamed: patterns in names that older versions of transformers wrote, with their replacements.
        part_keys: the config keys of a multimodal model's text part, where they differ from `keys`.
        check: refuses tensors that contradict the config, by a ConfigError.
        example: settings that every folder has and transformers' config class no default of.
    """

    model_type: str
    settings: Callable[[Any], dict[str, Any]]
    weight_map: Callable[[TransformerConfig, Any], WeightMap]
    keys: Keys
    prefix: str = "model."
    ignored: str = r".*rotary_emb\.inv_freq"
    embedding: str = "embed_tokens.weight"
    unembed: str = UNEMBED
    twins: tuple[tuple[str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    part_keys: Keys | None = None
    check: Callable[[TransformerConfig, Mapping[str, Tensor]], None] = lambda cfg, tensors: None
    example: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> Family[TransformerConfig]:
        """The family of this architecture's folders."""
        return Family(self.model_type, partial(read, self), self._likeness)

    def names(self, raw: dict[str, Tensor], is_part: bool = False) -> dict[str, Tensor]:
        """Rename a folder's tensors to those of the weight map; `is_part` for a multimodal model's text part."""
        raw = text_tensors(raw, self.unembed) if is_part else without_other_prefix(raw)
        return plain_names(raw, self.prefix, self.renamed)

    def beside(self, folder: Path) -> set[str]:
        """The names of a folder's tensors outside its body; none where it has no prefix to tell them by."""
        raw = read_folder(folder)
        outside = {name: tensor for name, tensor in raw.items() if not name.startswith(self.prefix)}
        return set() if len(outside) == len(raw) else set(self.names(outside))

    def head(self, folder: Path, raw_config: dict[str, Any]) -> Head | None:
        """The head of a folder's model; None for a language model's."""
        if is_gguf(folder):
            return None
        stored = self.names(read_folder(folder), text_part(raw_config) is not None)
        return head_of(raw_config, stored, self.unembed, self.unembed != UNEMBED, is_sentence_encoder(folder))

    @cached_property
    def _known(self) -> set[str]:
        """The tensor names of a folder with two layers and the defaults of transformers' config class."""
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # a second, which few need

        config = self.keys.select(CONFIG_MAPPING[self.model_type](**self.example))
        config.tie_word_embeddings = bool(config.tie_word_embeddings)  # which some classes of a text's part lack
        cfg = TransformerConfig(**self.settings(config))
        shallow = replace(cfg, n_layers=2, attn_types=cfg.attn_types and cfg.attn_types[:2])
        weight_map = self.weight_map(shallow, config)
        return {name for weight in weight_map.values() for name in weight.shapes}

    def _likeness(self, names: Iterable[str]) -> float:
        of_text = text_tensors(dict.fromkeys(names, torch.empty(0)), self.unembed)
        plain = (name.removeprefix(self.prefix) for name in of_text)
        return likeness({*plain} - {self.unembed}, self._known - {self.unembed})  # whether tied or not


def read(
    architecture: Architecture, folder: Path, settings: dict[str, Any], how: Opening
) -> Checkpoint[TransformerConfig]:
    """Read a folder's config, and its parameters as views of its files.

    Raises:
        CheckpointError: damaged files, or tensors that do not match config.json.
        ConfigError: settings in config.json that are not supported.
    """
    raw_config = read_config_file(folder)
    part = text_part(raw_config)
    keys = architecture.keys if part is None else architecture.part_keys or architecture.keys
    config, unread = read_config(architecture.model_type, raw_config if part is None else part, keys, part is not None)
    embedding, unembed = architecture.embedding, architecture.unembed
    if (head := architecture.head(folder, raw_config)) is not None:
        config.tie_word_embeddings = False
    names = partial(architecture.names, is_part=part is not None)
    twins = ((embedding, unembed), *architecture.twins) if config.tie_word_embeddings else ()
    tensors = read_model(folder, names, unembed, twins)
    if is_adapter(folder) and embedding in tensors:
        config.vocab_size = len(tensors[embedding])  # which may have tokens more than its base's
    with translating(architecture.model_type):
        translated = architecture.settings(config)
    if translated.get("tie_word_embeddings"):
        translated["tie_word_embeddings"] = is_tied(tensors.get(unembed), tensors.get(embedding))
    if head is not None:
        translated = head.applied(translated)
        tensors.pop(unembed, None)
    translated["value_head"] = has_value_head(tensors)
    cfg = TransformerConfig(**(translated | settings))
    if cfg.tie_word_embeddings:
        tensors.pop(unembed, None)
    check_depth(tensors, cfg.n_layers)
    check_experts(tensors, cfg.num_experts)
    architecture.check(cfg, tensors)
    with translating(architecture.model_type):
        weight_map = architecture.weight_map(cfg, config)
    weight_map |= value_head(cfg, tensors)
    weight_map = weight_map if head is None else head.mapped(weight_map, cfg)
    said = note(raw_config["model_type"]) if part else ""
    if has_own_heads(raw_config):
        needed = needed_by(weight_map)
        known = without_ignored(tensors, architecture.ignored, needed)
        tensors, said = without_own_heads(raw_config, known, architecture.beside(folder), needed)
    state = filled(weight_map, tensors, architecture.ignored, how, skeleton(cfg))
    return with_sentence(folder, Checkpoint(cfg, state, weight_files(folder), said, unread))


def filled(
    weight_map: WeightMap, tensors: dict[str, Tensor], ignored: str, how: Opening, skeleton: Module
) -> dict[str, Tensor]:
    """Return the state dict of a skeleton model from a checkpoint's tensors, without the ignored ones.

    Raises:
        CheckpointError: the tensors are not those that the weight map needs.
    """
    needed = needed_by(weight_map)
    converted = taken(without_ignored(tensors, ignored, needed), needed, how)
    return parameters(weight_map, converted, shapes_of(skeleton))


def needed_by(weight_map: WeightMap) -> dict[str, tuple[int, ...]]:
    """The checkpoint tensors that a weight map reads, and their shapes."""
    return {name: shape for weight in weight_map.values() for name, shape in weight.shapes.items()}


@contextmanager
def translating(kind: str) -> Iterator[None]:
    """Turn errors from unchecked config values into a ConfigError; transformers validates only some of them."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ConfigError(
            f"config.json holds what a {kind} model cannot have ({type(error).__name__}: {error}). Compare it with the "
            "config.json of the model that this one was made of."
        ) from error


def read_config(
    kind: str, raw_config: dict[str, Any], keys: Keys, is_part: bool = False
) -> tuple[Any, tuple[str, ...]]:
    """Parse config.json as transformers does.

    The config of a multimodal model's text part may leave sizes out; they are the defaults then.

    Returns:
        The config reduced to the architecture's keys, and the settings that nothing reads.

    Raises:
        CheckpointError: more layers than any model has.
        ConfigError: a size is missing, settings contradict each other, or one is not supported.
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # a second, which few need

    check_quantisation(raw_config)
    config_class = CONFIG_MAPPING[kind]
    for size in SIZES:
        theirs = config_class.attribute_map.get(size, size)
        spelled = next((name for name in (theirs, size, OLD_SIZES.get(size)) if name in raw_config), None)
        if spelled is None and is_part:
            continue
        if spelled is None:
            raise ConfigError(f"config.json lacks {theirs}, which a {kind} model has.")
        check_size(f"config.json's {spelled}", raw_config[spelled])
        if size == "num_hidden_layers":
            check_layers(raw_config[spelled])
    try:
        config = config_class.from_dict(deepcopy(raw_config))
        if hasattr(config, "rope_parameters"):
            config.standardize_rope_params()  # as its model does once more: by then it has all of its keys
    except Exception as error:  # whatever a strict config class finds fault with
        reason = " ".join(str(error).split())
        raise ConfigError(f"config.json is not that of a {kind} model: {reason}") from error
    keys.check(raw_config)
    return keys.select(config), tuple(keys.unread(raw_config, config_class()))


def activation(named: object) -> str:
    """Translate the name of an activation function.

    Raises:
        ConfigError: it is none of those that are supported.
    """
    if str(named) not in ACTIVATIONS:
        raise ConfigError(f"config.json asks for the activation {named!r}; supported are {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[str(named)]


def layers(
    cfg: TransformerConfig,
    of_layer: Callable[[str], WeightMap],
    prefix: str = "layers.{}.",
    only: Iterable[int] | None = None,
) -> WeightMap:
    """Map the parameters of all layers, or of `only` some; `of_layer(prefix)` maps one layer's."""
    return {
        f"blocks.{layer}.{name}": weight
        for layer in (range(cfg.n_layers) if only is None else only)
        for name, weight in of_layer(prefix.format(layer)).items()
    }


def plain_names(raw: dict[str, Tensor], prefix: str, renamed: tuple[tuple[str, str], ...] = ()) -> dict[str, Tensor]:
    """Strip the prefix of a model with a head, and replace the names of older versions.

    Raises:
        CheckpointError: a tensor occurs twice.
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
    """Drop tensors whose names match `ignored` and that are not needed."""
    return {name: tensor for name, tensor in tensors.items() if name in needed or not re.fullmatch(ignored, name)}


def save_folder(folder: Path, prefix: str, weight_map: WeightMap, model: Transformer, config: str) -> None:
    """Write config.json and a safetensors file in transformers' layout, atomically."""
    tensors = {weight.name: torch.empty(weight.shape) for weight in weight_map.values()}
    state = model.state_dict()
    for name, weight in weight_map.items():
        weight.view(tensors[weight.name]).copy_(state[name])
    write_folder(folder, {name if name == UNEMBED else prefix + name: each for name, each in tensors.items()}, config)
