"""Reading circuit-tracer's transcoders: config.yaml beside layer_<i>.safetensors, or beside a cross-layer one's files.

Source: circuit-tracer 0.5 and its main branch of April 2026, transcoder/single_layer_transcoder.py,
transcoder/cross_layer_transcoder.py, transcoder/activation_functions.py and utils/hf_utils.py.
"""

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError, naming
from headlight.model.base.files import refuse_pointer
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.features.gemma_scope import renamed
from headlight.model.features.hub import came_from
from headlight.model.features.npz import read_npz
from headlight.model.features.weights import checked, width_of
from headlight.model.runs.dictionary import Dictionary, Origin, Output

CONFIG = "config.yaml"
MAX_LAYERS = 512  # layers
MAX_CONFIG_BYTES = 1_000_000  # bytes of a config
THRESHOLD = "activation_function.threshold"
NUMBER = "([0-9]{1,4})"
KINDS = ("transcoder_set", "cross_layer_transcoder")
ACTIVATIONS = (None, "relu", "jumprelu", "jump_relu", "topk")
K_OF = {"facebook/crv-8b-instruct-transcoders": 128}  # whose config does not say it, as circuit-tracer knows too


def recognises(folder: Path) -> bool:
    """Whether a folder is one of circuit-tracer's."""
    return (folder / CONFIG).is_file()


def read(folder: Path, name: str) -> list[Dictionary]:
    """The transcoders in a folder, one a layer.

    Raises:
        CheckpointError: a file is missing or damaged, or the config asks for what is not supported.
    """
    settings = _settings(folder / CONFIG)
    kind = settings.get("model_kind", KINDS[0])
    if kind not in KINDS:
        raise CheckpointError(f"{CONFIG} says model_kind {kind!r}; it can be {' or '.join(KINDS)}.")
    hooks = _hook(settings, "feature_input_hook"), _hook(settings, "feature_output_hook")
    origin = Origin(str(settings.get("model_name") or ""))
    if settings.get("activation") not in ACTIVATIONS:
        known = ", ".join(map(repr, ACTIVATIONS[1:]))
        raise CheckpointError(
            f"{CONFIG} says activation {settings['activation']!r}, which is not read; it can be {known}."
        )
    if kind == KINDS[0]:
        known_k = settings.get("k", next((k for name, k in K_OF.items() if came_from(name, folder)), None))
        dictionaries = []
        for layer, path in _files(folder, settings).items():
            with naming((path.name,)):
                tensors = _tensors(path)
                kept = tensors.pop("k", None) if settings.get("activation") in (None, "topk") else None
                k = _k(settings.get("activation"), known_k, kept)
                if THRESHOLD in tensors and (k is not None or settings.get("activation") == "relu"):
                    raise CheckpointError(f"{path.name} has thresholds, and {CONFIG} says that it is no jumprelu.")
                dictionaries.append(_layer(tensors, name, layer, hooks, origin, k))
        return dictionaries
    if settings.get("activation") == "topk":
        raise CheckpointError(f"{CONFIG} says activation 'topk' of a {kind}; circuit-tracer has none of these.")
    return _cross_layer(folder, name, hooks, origin)


def _k(activation: object, said: object, kept: Tensor | None) -> int | None:
    """Maximum number of active features, by the config or a layer's file; None for other activations than top-k.

    Raises:
        CheckpointError: nothing says how many, or the two do not agree.
    """
    if activation not in (None, "topk") or (activation is None and kept is None):
        return None
    stored = None if kept is None or kept.numel() != 1 else kept.item()
    values = {value for value in (said, stored) if value is not None}
    k = next(iter(values), None)
    if len(values) != 1 or not isinstance(k, int) or isinstance(k, bool) or k < 1:
        numbers = " and ".join(map(repr, values)) or "no number"
        raise CheckpointError(
            f"{CONFIG} and the layers' files say {numbers} for k; topk transcoders have one whole number of at least "
            f"1. Write it into {CONFIG}."
        )
    return k


def _settings(path: Path) -> dict[str, Any]:
    import yaml

    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise CheckpointError(f"{path.name} is larger than any config; it is not read.")
        refuse_pointer(path)
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise CheckpointError(f"{path.name} cannot be read as YAML ({type(error).__name__}).") from error
    if not isinstance(settings, dict):
        raise CheckpointError(f"{path.name} holds {type(settings).__name__}; it has to hold names and values.")
    return settings


def _hook(settings: dict[str, Any], name: str) -> str:
    hook = settings.get(name)
    if not isinstance(hook, str) or not hook:
        raise CheckpointError(f"{CONFIG} names no {name}; circuit-tracer's are hook_resid_mid and hook_mlp_out.")
    return "hook_mlp_out" if hook == "mlp.hook_out" else hook


def _numbered(folder: Path, pattern: str) -> dict[int, Path]:
    """The files of that name by the number in it, which have to be all from 0 on.

    Raises:
        CheckpointError: there are none, or one is missing in between.
    """
    files = {int(match[1]): path for path in folder.iterdir() if (match := re.fullmatch(pattern, path.name))}
    missing = next(number for number in range(len(files) + 1) if number not in files)
    if not files or missing < len(files):
        raise CheckpointError(f"The folder lacks {pattern.replace(NUMBER, str(missing)).replace(chr(92), '')}.")
    return dict(sorted(files.items()))


def _files(folder: Path, settings: dict[str, Any]) -> dict[int, Path]:
    """File of each layer: those named in the config, where they lie beside it, or layer_<i>.safetensors.

    Raises:
        CheckpointError: one is missing, or would lie outside the folder.
    """
    named = settings.get("transcoders")
    if not isinstance(named, list):
        return _numbered(folder, rf"layer_{NUMBER}\.safetensors")
    return {layer: _beside(folder, str(each)) for layer, each in enumerate(named[:MAX_LAYERS])}


def _beside(folder: Path, named: str) -> Path:
    """Path beside the config of a file that is named as one of the hub's, with the hub's folders or without."""
    inside = re.sub(r"^hf://[^/]+/[^/]+/|\?.*$", "", named)
    paths = [path for path in (folder / inside, folder / Path(inside).name) if path.is_file()]
    if not paths or ".." in Path(inside).parts or Path(inside).is_absolute():
        raise CheckpointError(
            f"{CONFIG} names {named}, which does not lie beside it and is not fetched from elsewhere. Download it as "
            f"{inside} into the folder."
        )
    return paths[0]


def _tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a layer's file under this format's names; Gemma Scope's encoders are transposed."""
    if path.suffix == ".npz":
        return _turned(read_npz(path))
    tensors = read_safetensors(path)
    return _turned({renamed(name): tensor for name, tensor in tensors.items()}) if "w_enc" in tensors else tensors


def _turned(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    turned = {name: tensors[name].T for name in ("W_enc", "W_skip") if name in tensors}
    threshold = {THRESHOLD: tensors["threshold"]} if "threshold" in tensors else {}
    return {name: tensor for name, tensor in tensors.items() if name != "threshold"} | turned | threshold


def _layer(
    tensors: dict[str, Tensor], name: str, layer: int, hooks: tuple[str, str], origin: Origin, k: int | None
) -> Dictionary:
    """W_enc [feature, d_in], W_dec [feature, d_out], W_skip [d_out, d_in] and, of jumprelu, the thresholds.

    Its topk takes the largest as they are, those below 0 too where there are not enough others.
    """
    n_features, d_in = width_of(tensors, "W_enc", 2)
    d_out = width_of(tensors, "W_dec", 2)[1]
    shapes: dict[str, tuple[int, ...]] = {"W_enc": (n_features, d_in), "W_dec": (n_features, d_out)}
    shapes |= {"b_enc": (n_features,), "b_dec": (d_out,)}
    shapes |= {THRESHOLD: (n_features,)} if THRESHOLD in tensors else {}
    shapes |= {"W_skip": (d_out, d_in)} if "W_skip" in tensors else {}
    weights = checked(tensors, shapes)
    return Dictionary(
        name=name,
        hook_in=f"blocks.{layer}.{hooks[0]}",
        architecture="topk" if k else "jumprelu" if THRESHOLD in weights else "standard",
        W_enc=weights["W_enc"].T,
        b_enc=weights["b_enc"],
        outputs=(Output(f"blocks.{layer}.{hooks[1]}", weights["W_dec"], weights["b_dec"]),),
        threshold=weights.get(THRESHOLD),
        k=k,
        keep_sign=k is not None,
        skip=weights["W_skip"].T if "W_skip" in weights else None,
        origin=origin,
    )


def _cross_layer(folder: Path, name: str, hooks: tuple[str, str], origin: Origin) -> list[Dictionary]:
    """A feature of a layer writes to the outputs of that layer and of all later ones."""
    encoders = _numbered(folder, rf"W_enc_{NUMBER}\.safetensors")
    read = {layer: read_safetensors(path) for layer, path in encoders.items()}
    dictionaries = []
    for layer, path in encoders.items():
        with naming((path.name, f"W_dec_{layer}.safetensors")):
            dictionaries.append(_crossing(folder, name, layer, read[layer], len(encoders), hooks, origin))
    return dictionaries


def _crossing(
    folder: Path,
    name: str,
    layer: int,
    tensors: dict[str, Tensor],
    n_layers: int,
    hooks: tuple[str, str],
    origin: Origin,
) -> Dictionary:
    """W_enc_l [feature, d_in], W_dec_l [feature, later layer, d_out]; biases and thresholds lie with the encoder."""
    n_features, d_in = width_of(tensors, f"W_enc_{layer}", 2)
    shapes: dict[str, tuple[int, ...]] = {f"W_enc_{layer}": (n_features, d_in), f"b_enc_{layer}": (n_features,)}
    shapes |= {f"b_dec_{layer}": width_of(tensors, f"b_dec_{layer}", 1)}
    shapes |= {f"threshold_{layer}": (n_features,)} if f"threshold_{layer}" in tensors else {}
    weights = checked(tensors, shapes)
    b_dec = weights[f"b_dec_{layer}"]
    decoder = f"W_dec_{layer}"
    written = checked(
        read_safetensors(folder / f"{decoder}.safetensors"), {decoder: (n_features, n_layers - layer, len(b_dec))}
    )[decoder]
    biases = [b_dec, *[torch.zeros_like(b_dec)] * (n_layers - layer - 1)]  # each layer's output has a bias once
    outputs = [Output(f"blocks.{layer + i}.{hooks[1]}", written[:, i], bias) for i, bias in enumerate(biases)]
    return Dictionary(
        name=name,
        hook_in=f"blocks.{layer}.{hooks[0]}",
        architecture="jumprelu" if f"threshold_{layer}" in weights else "standard",
        W_enc=weights[f"W_enc_{layer}"].T,
        b_enc=weights[f"b_enc_{layer}"],
        outputs=tuple(outputs),
        threshold=weights.get(f"threshold_{layer}"),
        origin=origin,
    )
