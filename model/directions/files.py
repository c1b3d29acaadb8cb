"""Files of directions, written and opened: safetensors, llama.cpp's control vectors, Neuronpedia's json.

- safetensors: a tensor `layer.{n}` for the stream before layer n, and of the whole direction a line of metadata each.
- GGUF, as llama.cpp's `--control-vector` and repeng have it: `direction.{n}` is added to the stream after layer n,
  which is the one before layer n + 1. There is none for n = 0, so that the streams before layers 0 and 1 are left out.
- json, as Neuronpedia takes and gives vectors: one for each layer, `hook_resid_pre` of `layerNumber`.

A vector stands there as it is added with factor 1. All are somebody else's files: nothing is allocated on their word.

Source: llama.cpp `common/common.cpp` (common_control_vector_load) and `src/llama-adapter.cpp`; vgel/repeng
`ControlVector.export_gguf`; the package neuronpedia, `requests/vector_request.py`.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.base.files import (
    MAX_JSON,
    open_file,
    parse_json,
    reason,
    refuse_pointer,
    replacing,
    write_bytes,
    write_text,
)
from headlight.model.checkpoints.gguf.header import SUFFIX as GGUF
from headlight.model.checkpoints.gguf.header import package, read_header
from headlight.model.checkpoints.gguf.tensors import read_tensors
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.direction import HOOK, Direction

SAFE, JSON = ".safetensors", ".json"
SUFFIXES = (SAFE, GGUF, JSON)
FORMAT = "headlight direction"
ARCHITECTURE = "controlvector"
MAX_LAYERS, MAX_WIDTH, MAX_TEXT = 1000, 2**17, 200
STRENGTH = 1.0  # at which a vector is added as it stands
Vectors = dict[int, Tensor]
Texts = Mapping[str, Any]


def save_direction(direction: Direction, path: str | Path) -> None:
    """Write a direction; the name's ending says in which format.

    Raises:
        InputError: the ending is none of .safetensors, .gguf and .json, or no vector can be written in this format.
        HeadlightError: it cannot be written there.
    """
    file = Path(path)
    if file.suffix not in SUFFIXES:
        raise InputError(f"{file.name} ends in {file.suffix!r}; a direction is written as {', '.join(SUFFIXES)}.")
    if file.suffix == JSON:
        write_text(file, json.dumps(neuronpedia_json(direction), indent=1))
    elif file.suffix == SAFE:
        write_bytes(file, safetensors_bytes(direction))
    else:
        with replacing(file) as beside:
            _write_gguf(direction, beside)


def open_direction(path: str | Path, model: Transformer | None = None, name: str = "") -> Direction:
    """Open a direction from a file; with a model it has to fit that.

    Args:
        path: a .safetensors, .gguf or .json file.
        model: the model that it is for.
        name: what to call it; by default as the file does.

    Raises:
        CheckpointError: the file is missing, damaged or holds no direction.
        InputError: it is of a model of another size.
    """
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise CheckpointError(f"{file.name} ends in {file.suffix!r}; a direction's file ends in {', '.join(SUFFIXES)}.")
    refuse_pointer(file)
    vectors, texts = _READERS[file.suffix.lower()](file)
    _check(file, vectors)
    fields = {key: str(texts.get(key) or "")[:MAX_TEXT] for key in ("name", "position", "method", "model")}
    direction = Direction(
        name or fields["name"] or file.stem[:MAX_TEXT],
        {layer: vectors[layer].float().clone() for layer in sorted(vectors)},
        fields["position"] or "unknown",
        fields["method"],
        fields["model"],
    )
    if model is not None:
        direction.check_fits(model.cfg.d_model, model.cfg.n_layers)
    return direction


def neuronpedia_json(direction: Direction) -> dict[str, Any] | list[dict[str, Any]]:
    """What Neuronpedia's `vector/new` takes: an object for a layer, a list of them for several."""
    listed = [
        {
            "modelId": direction.model,
            "layerNumber": layer,
            "hookType": HOOK,
            "vector": direction.vectors[layer].tolist(),
            "vectorLabel": direction.name,
            "vectorDefaultSteerStrength": STRENGTH,
        }
        for layer in direction.layers
    ]
    return listed[0] if len(listed) == 1 else listed


def safetensors_bytes(direction: Direction, more: Mapping[str, str] | None = None) -> bytes:
    """A direction's safetensors file, with more lines of metadata."""
    texts = {"format": FORMAT, "hook": HOOK, "name": direction.name, "position": direction.position}
    texts |= {"method": direction.method, "model": direction.model, **(more or {})}
    return save({f"layer.{layer}": direction.vectors[layer].contiguous() for layer in direction.layers}, texts)


def _write_gguf(direction: Direction, path: Path) -> None:
    vectors = {layer - 1: direction.vectors[layer] for layer in direction.layers if layer > 1}
    if not vectors:
        raise InputError(
            "llama.cpp adds control vectors after layer 1 and later ones, and this direction has none there. Write "
            "another layer, or another format."
        )
    writer = package().GGUFWriter(path, ARCHITECTURE)
    writer.add_string(f"{ARCHITECTURE}.model_hint", direction.model)
    writer.add_uint32(f"{ARCHITECTURE}.layer_count", len(vectors))
    writer.add_name(direction.name)
    writer.add_string("headlight.method", direction.method)
    writer.add_string("headlight.position", direction.position)
    for layer, vector in vectors.items():
        writer.add_tensor(f"direction.{layer}", vector.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _read_safetensors(path: Path) -> tuple[Vectors, Texts]:
    return _layers(path, read_safetensors(path), r"layer\.(\d{1,4})", 0), metadata_of(path)


def metadata_of(path: Path) -> dict[str, str]:
    """The lines of metadata of a safetensors file.

    Raises:
        CheckpointError: it cannot be read.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as safetensors ({reason(error, path)}). Copy or download it again."
        ) from error


def _read_gguf(path: Path) -> tuple[Vectors, Texts]:
    header = read_header(path)
    texts = {
        "name": header.metadata.get("general.name"),
        "model": header.setting("model_hint"),
        "method": header.metadata.get("headlight.method"),
        "position": header.metadata.get("headlight.position"),
    }
    if header.architecture != ARCHITECTURE:
        raise CheckpointError(
            f"{path.name} is a GGUF file of {header.architecture[:40]!r}, no control vector. Choose one that "
            "llama.cpp's --control-vector takes."
        )
    return _layers(path, read_tensors(path), r"direction\.(\d{1,4})", 1), texts


def _layers(path: Path, tensors: Mapping[str, Tensor], pattern: str, shift: int) -> Vectors:
    vectors = Vectors()
    for name, tensor in tensors.items():
        if (match := re.fullmatch(pattern, name)) is None:
            expected = pattern.replace("\\", "").replace("(d{1,4})", "N")
            raise CheckpointError(
                f"{path.name} holds {name[:60]!r}; the tensors of a direction are called {expected}. Choose another."
            )
        vectors[int(match[1]) + shift] = tensor
    return vectors


def _read_json(path: Path) -> tuple[Vectors, Texts]:
    try:
        with open_file(path) as file:
            data = file.read(MAX_JSON + 1)
        if len(data) > MAX_JSON:
            raise CheckpointError(f"{path.name} has more than {MAX_JSON >> 20} MiB, and is not read as JSON.")
        content = parse_json(data)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as JSON ({reason(error, path)}). Copy or download it again."
        ) from error
    listed = content if isinstance(content, list) else [content]
    vectors = Vectors()
    for each in listed[: MAX_LAYERS + 1]:
        layer, vector = _of_neuronpedia(path, each)
        if layer in vectors:
            raise CheckpointError(f"{path.name} has layer {layer} twice. Remove one of the two.")
        vectors[layer] = vector
    first = listed[0] if listed else {}
    return vectors, {"name": first.get("vectorLabel") or first.get("label"), "model": first.get("modelId")}


def _of_neuronpedia(path: Path, each: Any) -> tuple[int, Tensor]:
    """A vector's layer and numbers: as it is uploaded (layerNumber, hookType) or downloaded (hookName)."""
    vector = each.get("vector") if isinstance(each, dict) else None
    if not isinstance(vector, list) or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in vector):
        raise CheckpointError(
            f"{path.name} holds no vector: Neuronpedia's json has modelId, layerNumber, hookType and a list of numbers "
            "as vector. Choose such a file."
        )
    hook, layer = str(each.get("hookName") or each.get("hookType") or ""), each.get("layerNumber")
    if named := re.fullmatch(r"blocks\.(\d{1,4})\.(.+)", hook):
        layer, hook = int(named[1]), named[2]
    kind = hook.removeprefix("hook_").replace("-", "_")
    if kind not in ("resid_pre", "resid_post") or not isinstance(layer, int) or not 0 <= layer < MAX_LAYERS:
        raise CheckpointError(
            f"{path.name} has a vector of {hook[:60]!r} in layer {str(layer)[:20]!r}; a direction is of "
            "hook_resid_pre or hook_resid_post in a numbered layer."
        )
    try:
        return layer + (kind == "resid_post"), torch.tensor(vector, dtype=torch.float32)
    except (OverflowError, RuntimeError) as error:
        raise CheckpointError(f"{path.name} has numbers that are too large for float32.") from error


_READERS = {SAFE: _read_safetensors, GGUF: _read_gguf, JSON: _read_json}


def _check(path: Path, vectors: Vectors) -> None:
    """Refuse what is no direction: vectors of one width, finite, not all zero."""
    if not vectors:
        raise CheckpointError(f"{path.name} holds no vector. Choose a file with at least one layer.")
    if len(vectors) > MAX_LAYERS or max(vectors) > MAX_LAYERS:
        raise CheckpointError(f"{path.name} has vectors beyond layer {MAX_LAYERS}; no model has so many layers.")
    shapes = {tuple(vector.shape) for vector in vectors.values()}
    if len(shapes) > 1 or any(len(shape) != 1 or not 1 <= shape[0] <= MAX_WIDTH for shape in shapes):
        listed = ", ".join(map(str, sorted(shapes)[:3]))
        raise CheckpointError(
            f"{path.name} has tensors of the shapes {listed}; those of a direction are rows of one width up to "
            f"{MAX_WIDTH:,}."
        )
    for layer, vector in vectors.items():
        if not vector.dtype.is_floating_point or not vector.float().isfinite().all():
            raise CheckpointError(f"Layer {layer} of {path.name} has NaN or infinite values. Write the file again.")
    if not any(bool(vector.any()) for vector in vectors.values()):
        raise CheckpointError(f"All numbers of {path.name} are 0, which is no direction.")
