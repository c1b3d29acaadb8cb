"""LoRA folders, as peft writes them: a few small matrices that are added to those of a base, which lies elsewhere.

Source: Hu et al. 2021, "LoRA"; Liu et al. 2024, "DoRA"; peft's save_pretrained for the names, its layers for the rest.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.lora_settings import CONFIG, HEADS, REMEDY, LoraSettings
from headlight.model.checkpoints.state_dicts import read_tensors
from headlight.model.compute.quantised import changed

WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
BEFORE = "base_model.model."  # every name of the base's modules
WRAPPER = re.compile(r"(?<=\.)(base_layer|token_adapter|modules_to_save|default)\.")  # modules that peft puts around
PART = re.compile(r"(.+)\.(lora_\w+|trainable_tokens_delta)(?:\.default)?(?:\.(weight|bias))?")
OTHER_HEAD = re.compile(r"(score|classifier|pre_classifier|qa_outputs)\..*")
REPLACED = re.compile(r"(cls|lm_head|predictions|vocab_\w+|generator_\w+|discriminator_\w+)\..*|decoder\.(weight|bias)")
ROWS = "trainable_tokens_delta"  # the embeddings of single tokens
HEAD = re.compile(r"(.*\.)?(score|classifier|classification_head|qa_outputs|v_head|value_head|pooler)\..*")


def is_adapter(folder: Path) -> bool:
    """Whether a path is a folder of peft's adapters, without the weights of the base."""
    whole = (f"{name}{index}" for name in ("model.safetensors", "pytorch_model.bin") for index in ("", ".index.json"))
    return (folder / CONFIG).is_file() and not any((folder / name).is_file() for name in whole)


def base_folder(folder: Path) -> Path:
    """The folder that holds the base of an adapter, or of anything else that folder itself.

    Raises:
        CheckpointError: the base is not on this machine.
        ConfigError: it is an adapter of a kind that is not computed here.
    """
    if not is_adapter(folder):
        return folder
    name = LoraSettings.read(folder).base
    for base in (folder / name, folder.parent / name):
        if os.path.isfile(base / "config.json") and not is_adapter(base):  # unlike Path's, this never raises
            return base
    raise CheckpointError(
        f"{folder.name} is a LoRA of {name!r}, and there is no such folder. Put that model's folder beside it, and "
        f"its path into {CONFIG} as base_model_name_or_path. {REMEDY}"
    )


def adapter_file(folder: Path) -> Path:
    """The file of an adapter's tensors.

    Raises:
        CheckpointError: there is none that is read.
    """
    for name in WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    names = ", ".join(sorted(path.name for path in folder.glob("adapter_model.*"))) or "no weights"
    raise CheckpointError(
        f"{folder.name} is a LoRA whose folder holds {names}; what is read is {' or '.join(WEIGHTS)}. Load it in peft "
        "and call save_pretrained(folder), which writes that."
    )


def with_trained_head(folder: Path, base: dict[str, Tensor]) -> dict[str, Tensor]:
    """The base's tensors with an adapter's whole head, a classifier's, in place of a language model's.

    Raises:
        CheckpointError: the adapter is said to have such a head, and has none.
        ConfigError: it is an adapter of a kind that is not computed here.
    """
    head = _trained_head(folder)
    if not head:
        return base
    return {name: tensor for name, tensor in base.items() if not REPLACED.fullmatch(name)} | head


def trained_class(folder: Path) -> dict[str, list[str]]:
    """The class of an adapter's model as config.json has it, where its head is not its base's; else nothing.

    Raises:
        CheckpointError: as `with_trained_head`.
        ConfigError: as `with_trained_head`.
    """
    return {"architectures": [LoraSettings.read(folder).trained_class]} if _trained_head(folder) else {}


def _trained_head(folder: Path) -> dict[str, Tensor]:
    if not is_adapter(folder):
        return {}
    named, (whole, _) = LoraSettings.read(folder).trained_class, _apart(read_tensors(adapter_file(folder)))
    head = {name: tensor for name, tensor in whole.items() if OTHER_HEAD.fullmatch(name)}
    if named and not head:
        raise CheckpointError(
            f"{folder.name} is the LoRA of a model {named}, and holds no head of one: only what was trained as one of "
            "modules_to_save is stored. Save it again with its head, or open its base."
        )
    if head and not named:
        raise CheckpointError(
            f"{folder.name} is a LoRA with the head {min(head)}, and {CONFIG} does not say of what. Set task_type "
            f"there to {', '.join(HEADS)}, whichever it was trained for."
        )
    return head


Names = Callable[[dict[str, Tensor]], dict[str, Tensor]]
"""Gives a checkpoint's tensors the names that its family reads them by, and leaves out what it does not read."""


@dataclass(frozen=True)
class Base:
    """The model that an adapter is merged into.

    Attributes:
        tensors: its weights.
        names: renames a checkpoint's tensors to the names in `tensors`.
        model_type: as in config.json.
        unembed: the unembedding's name.
        tied: token embedding and unembedding where they are one matrix; what an adapter adds to one of them is not
            added to the other.
        transposed: linear layers, except for the unembedding, are stored as [in, out].
        inseparable: matrices that several modules share, so that none of these can be changed alone.
    """

    tensors: dict[str, Tensor]
    names: Names
    model_type: str
    unembed: str
    tied: tuple[str, ...] = ()
    transposed: bool = False
    inseparable: tuple[str, ...] = ()

    def place(self, name: str) -> str | None:
        """Translate a tensor name of the trained model; None for parts of the model that are not read.

        Raises:
            CheckpointError: the base has no such tensor.
        """
        plain = next(iter(self.names({name: torch.empty(0)})), None)
        if plain is None or plain in self.tensors:
            return plain
        if HEAD.fullmatch(name):
            raise CheckpointError(
                f"The adapter holds {name}: it was trained with another head than a language model's, which has no "
                "logits of tokens. Open its base, or the LoRA of a language model."
            )
        raise CheckpointError(
            f"The adapter holds {name}, which its base has not: it was trained on another model, or under the names of "
            f"another version of transformers. {REMEDY}"
        )

    def check_separable(self, module: str, place: str) -> None:
        """Refuse a module that cannot be changed without others.

        Raises:
            CheckpointError: it is one of several that read a matrix.
        """
        if place in self.inseparable:
            raise CheckpointError(
                f"The adapter changes {module} alone, whose matrix other modules read as well: that cannot be opened."
            )


def merge(folder: Path, base: Base, adapter: dict[str, Tensor]) -> dict[str, Tensor]:
    """Merge an adapter into its base: add its low-rank products, and replace tensors that it stores whole.

    Raises:
        CheckpointError: a tensor of the adapter has no place in the base.
        ConfigError: it is an adapter of a kind that is not computed here.
    """
    settings = LoraSettings.read(folder)
    whole, parts = _apart(adapter)
    merged = base.tensors | _whole(settings, base, whole)
    merged |= _rows(settings, base, merged, {module: tensors for module, tensors in parts.items() if ROWS in tensors})
    for module, tensors in parts.items():
        place = base.place(f"{module}.weight")
        if place is not None and ROWS not in tensors:
            merged |= _added(settings, base, merged, module, place, tensors)  # to rows that were replaced, as peft does
    return merged


def _apart(adapter: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, dict[str, Tensor]]]:
    """Split an adapter into whole tensors by name, and the low-rank parts of each module by the part's name."""
    whole, parts = dict[str, Tensor](), dict[str, dict[str, Tensor]]()
    for name, tensor in adapter.items():
        plain = WRAPPER.sub("", name.removeprefix(BEFORE))
        if part := PART.fullmatch(plain):
            half = "bias" if part[3] == "bias" else part[2].removeprefix("lora_")
            parts.setdefault(part[1], {})[half] = tensor
        elif ".original_module." not in plain:  # what stood there before the training
            whole[plain] = tensor
    return whole, parts


def _whole(settings: LoraSettings, base: Base, whole: dict[str, Tensor]) -> dict[str, Tensor]:
    """The base tensors that are replaced: both of a tied pair, unless only one of the two modules was trained."""
    replaced: dict[str, Tensor] = {}
    for name, tensor in whole.items():
        if (place := base.place(name)) is not None:
            module = name.rpartition(".")[0]
            if alone := place not in base.tied or settings.is_saved(module):
                base.check_separable(module, place)
            replaced |= dict.fromkeys((place,) if alone else base.tied, tensor)
    return replaced


def _rows(
    settings: LoraSettings, base: Base, tensors: dict[str, Tensor], parts: dict[str, dict[str, Tensor]]
) -> dict[str, Tensor]:
    """The matrices with single tokens' rows replaced; a tied unembedding takes the embedding's rows."""
    replaced: dict[str, Tensor] = {}
    for module, adapted in parts.items():
        place = base.place(f"{module}.weight")
        if place is None:
            continue
        at, rows = torch.tensor(settings.token_rows(module)), adapted[ROWS]
        if rows.shape != (len(at), tensors[place].shape[1]) or max(at) >= len(tensors[place]):
            raise CheckpointError(f"The adapter's rows for single tokens of {module} do not fit its base's {place}.")
        is_of_both = base.tied[:1] == (place,) and len(parts) == 1
        for each in base.tied if is_of_both else (place,):
            replaced[each] = tensors[each].index_copy(0, at, rows.to(tensors[each].dtype))
    return replaced


def _added(
    settings: LoraSettings, base: Base, tensors: dict[str, Tensor], module: str, place: str, adapted: dict[str, Tensor]
) -> dict[str, Tensor]:
    """A module's weight plus the scaled product B A, and its bias where the adapter has one."""
    is_linear = "embedding_A" not in adapted and place != base.unembed
    is_target = settings.is_target(module, base.model_type, is_linear)
    if not is_target and not (settings.ties and place in base.tied):
        raise CheckpointError(
            f"The adapter holds lora_A and lora_B of {module}, which {CONFIG} leaves out of what was trained, so that "
            "peft would not add them. Take them out of the file, or mend target_modules and what belongs to it."
        )
    base.check_separable(module, place)
    kind = "embedding_" if "embedding_A" in adapted else ""
    into, out = adapted.pop(f"{kind}A", None), adapted.pop(f"{kind}B", None)
    if into is None or out is None or into.ndim != 2 or out.ndim != 2 or into.shape[0] != out.shape[1]:
        raise CheckpointError(f"The adapter's lora_A and lora_B of {module} do not make up a product.")
    turned = bool(kind) or (base.transposed and place != base.unembed)
    shape = (into.shape[1], out.shape[0]) if turned else (out.shape[0], into.shape[1])
    if tensors[place].shape != shape:
        raise CheckpointError(f"The adapter's {module} is {list(shape)}, its base's {list(tensors[place].shape)}.")
    scale = settings.scale(module, len(into))
    lengths = adapted.pop("magnitude_vector", None) if settings.use_dora else None
    if settings.use_dora:
        _check_lengths(lengths, shape[1] if turned else shape[0], module)

    def with_product(weight: Tensor) -> Tensor:
        change = scale * (out.float() @ into.float())
        weight = weight + (change.T if turned else change)
        return weight if lengths is None else _of_lengths(weight, lengths, 0 if turned else 1)

    merged = {place: changed(tensors[place], with_product)}
    if settings.has_bias:
        merged |= _biased(tensors, module, f"{place.removesuffix('weight')}bias", scale, adapted.pop("bias", None))
    adapted.pop("velora_embed", None)  # of VeLoRA's backward pass
    if adapted:
        raise CheckpointError(f"The adapter holds lora_{min(adapted)} of {module}, which is not known. {REMEDY}")
    return merged


def _biased(
    tensors: dict[str, Tensor], module: str, place: str, scale: float, bias: Tensor | None
) -> dict[str, Tensor]:
    if bias is None or place not in tensors or tensors[place].shape != bias.shape:
        raise CheckpointError(
            f"The adapter adds a bias to {module} (lora_bias), which has none of that width in its base: that cannot "
            "be opened. Open its base, or an adapter that was trained without lora_bias."
        )
    return {place: (tensors[place].float() + scale * bias.float()).to(tensors[place].dtype)}


def _check_lengths(lengths: Tensor | None, n_outputs: int, module: str) -> None:
    if lengths is None or lengths.numel() != n_outputs:
        raise CheckpointError(f"The adapter lacks the lora_magnitude_vector of {module}, or it has another width.")


def _of_lengths(weight: Tensor, lengths: Tensor, inputs: int) -> Tensor:
    """Scale each output's weights to the magnitude that DoRA trained; `inputs` is the input axis."""
    norms = torch.linalg.vector_norm(weight, dim=inputs, keepdim=True)
    return weight * lengths.float().view_as(norms) / norms
