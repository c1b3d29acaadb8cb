"""The files that lenses are published in, opened and written.

- A tuned lens is a folder of `config.json` and `params.pt`: an affine map for the state before each layer, and a hash
  of the unembedding that it was made for.
- A Jacobian lens is a `.pt` file: a matrix for the state after each layer, and how many prompts it is a mean of.

Both are somebody else's files. Nothing but tensors is unpickled, and these are mapped where they lie: nothing is
allocated on their word, and every tensor is checked. A pickle is still a risk that a server should not take: what is
fitted here is written as safetensors too, which are read where they lie beside it.

Source: AlignmentResearch/tuned-lens, `tuned_lens/nn/lenses.py` (MIT); Anthropic's `jlens/lens.py`, 2026 (Apache-2.0).
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import open_file, read_json, replacing_together
from headlight.model.base.source import BLOCK
from headlight.model.base.torch_files import read_torch
from headlight.model.checkpoints.tensors import FLOATS, read_safetensors
from headlight.model.lens.fitting import unembedding_hash
from headlight.model.lens.kinds import Affine, Kind, Lens
from headlight.model.nn.transformer import Transformer

CONFIG, PARAMS, JACOBIANS = "config.json", "params.pt", "lens.pt"
SAFE = ".safetensors"
LENS_TYPE = "linear_tuned_lens"
MAX_LAYERS = 1000
MAX_DIGITS = 9


def read_lens(kind: Kind, path: Path, *, allow_pickle: bool = True) -> Lens:
    """A lens from its folder, or a Jacobian lens from its file; without `allow_pickle` from safetensors alone.

    Raises:
        CheckpointError: the files are missing, damaged or not those of such a lens.
    """
    return _read_tuned(path, allow_pickle) if kind == "tuned" else _read_jacobian(path, allow_pickle)


def weights_in(folder: Path, kind: Kind) -> Path:
    """The file of a lens's weights in its folder: the safetensors, or the pickle where there are none."""
    pickled = folder / (PARAMS if kind == "tuned" else JACOBIANS)
    safe = pickled.with_suffix(SAFE)
    return safe if safe.is_file() else pickled


def _check_allowed(file: Path, allow_pickle: bool) -> None:
    if file.suffix != SAFE and not allow_pickle:
        raise CheckpointError(
            f"{file.name} is a pickle, which is not opened here. Fit the lens again by make fit-lens, which writes "
            f"{file.with_suffix(SAFE).name} beside it."
        )


def _read_tuned(folder: Path, allow_pickle: bool) -> Lens:
    file = weights_in(folder, "tuned")
    for path in (folder / CONFIG, file):
        if not path.exists():
            raise CheckpointError(
                f"{folder.name} has no {path.name}, so it is no tuned lens: its folder holds {CONFIG} and {PARAMS}. "
                "Choose that folder."
            )
    _check_allowed(file, allow_pickle)
    config = read_json(folder / CONFIG)
    if config.get("lens_type", LENS_TYPE) != LENS_TYPE:
        raise CheckpointError(
            f"{folder.name} is a lens of the type {str(config['lens_type'])[:40]!r}; only {LENS_TYPE!r} can be opened."
        )
    d_model, n_layers = _size(folder, config, "d_model", 2**20), _size(folder, config, "num_hidden_layers", MAX_LAYERS)
    state = read_safetensors(file) if file.suffix == SAFE else _unpickled(file)
    shapes: dict[str, tuple[int, ...]] = {f"{layer}.weight": (d_model, d_model) for layer in range(n_layers)}
    if config.get("bias", True):
        shapes |= {f"{layer}.bias": (d_model,) for layer in range(n_layers)}
    _check(file, state, shapes)
    maps = {layer: Affine(state[f"{layer}.weight"], state.get(f"{layer}.bias")) for layer in range(n_layers)}
    known = {"model": config.get("base_model_name_or_path"), "revision": config.get("base_model_revision")}
    provenance: dict[str, str | int] = {name: value[:200] for name, value in known.items() if isinstance(value, str)}
    unembedding = config.get("unembed_hash")
    return Lens(
        "tuned",
        folder.name,
        _digest(folder / CONFIG, file),
        maps,
        provenance,
        unembedding if isinstance(unembedding, str) else None,
    )


def _read_jacobian(path: Path, allow_pickle: bool) -> Lens:
    file = weights_in(path, "jacobian") if path.is_dir() else path
    if not file.exists():
        raise CheckpointError(
            f"{path.name} has no {JACOBIANS}, so it is no folder of a Jacobian lens. Choose its folder or its .pt file."
        )
    _check_allowed(file, allow_pickle)
    content = _safe_jacobians(file) if file.suffix == SAFE else _unpickled(file)
    if not isinstance(content.get("J"), Mapping):
        raise CheckpointError(f"{file.name} is no Jacobian lens: it has no matrices J. Write it by JacobianLens.save.")
    d_model, jacobians = _size(file, content, "d_model", 2**20), content["J"]
    if not jacobians or not all(_is_size(layer, MAX_LAYERS, least=0) for layer in jacobians):
        raise CheckpointError(f"{file.name} names layers that are none; they are numbers from 0 on.")
    _check(file, {str(layer): J for layer, J in jacobians.items()}, {str(at): (d_model, d_model) for at in jacobians})
    maps = {layer + 1: Affine(J) for layer, J in jacobians.items()}
    n_prompts: Any = content.get("n_prompts")
    provenance: dict[str, str | int] = {"n_prompts": n_prompts} if _is_size(n_prompts, 10**MAX_DIGITS) else {}
    return Lens("jacobian", path.name, _digest(file), maps, provenance)


def _safe_jacobians(file: Path) -> dict[str, Any]:
    """Contents of a `jlens` pickle, read from safetensors: matrices by layer number, and the mean's prompt count."""
    tensors = read_safetensors(file)
    with safe_open(file, framework="pt") as opened:
        metadata = opened.metadata() or {}
    layers = {_number(name): J for name, J in tensors.items()}
    d_model = next((J.shape[-1] for J in tensors.values() if J.ndim), 0)
    return {"J": layers, "d_model": d_model, "n_prompts": _number(metadata.get("n_prompts", ""))}


def _number(text: str) -> int:
    """A whole number from its text; -1 where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else -1


def _size(file: Path, metadata: Mapping[str, Any], name: str, most: int) -> int:
    value = metadata.get(name)
    if not _is_size(value, most):
        said = str(value)[:40] if isinstance(value, int | float | str) else type(value).__name__
        raise CheckpointError(f"{file.name} says {said!r} for {name}; it has to be 1 to {most:,}.")
    return int(metadata[name])


def _is_size(value: object, most: int, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _unpickled(path: Path) -> dict[Any, Any]:
    content = read_torch(path)
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} holds {type(content).__name__}, not tensors by name. It is no lens.")
    return content


def _check(path: Path, tensors: Mapping[Any, object], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Every tensor is there, of its shape, a plain one of a kind of float, and finite; and there is no other."""
    if strange := set(map(str, tensors)) ^ set(shapes):
        raise CheckpointError(
            f"{path.name} does not hold what its settings say; missing or too much are "
            f"{', '.join(sorted(strange)[:5])[:200]}. Copy or download it again."
        )
    for name, shape in shapes.items():
        tensor = tensors[name]
        if not isinstance(tensor, Tensor) or tensor.layout is not torch.strided or tensor.dtype not in FLOATS:
            raise CheckpointError(f"{path.name}: {name} is no tensor of float32, float16 or bfloat16.")
        if tuple(tensor.shape) != shape:
            raise CheckpointError(f"{path.name}: {name} has shape {list(tensor.shape)}; it has to be {list(shape)}.")
        if not tensor.isfinite().all():
            raise CheckpointError(f"{path.name}: {name} holds NaN or infinite values. Fit the lens again.")


def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        with open_file(path) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


def write_tuned(folder: Path, model: Transformer, translators: Mapping[str, Tensor], name: str) -> None:
    """Write a tuned lens as the `tuned-lens` package does, its translators by their names there, and as safetensors."""
    config = {
        "base_model_name_or_path": name,
        "d_model": model.cfg.d_model,
        "num_hidden_layers": model.cfg.n_layers,
        "bias": True,
        "base_model_revision": None,
        "unembed_hash": unembedding_hash(model),
        "lens_type": LENS_TYPE,
    }
    state = {name: tensor.detach().half().contiguous() for name, tensor in translators.items()}
    pickled = folder / PARAMS
    with replacing_together(folder / CONFIG, pickled, pickled.with_suffix(SAFE)) as (settings, params, safe):
        settings.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        _save(state, params)
        save_file(state, safe)


def write_jacobian(folder: Path, jacobians: Mapping[int, Tensor], n_prompts: int, d_model: int) -> None:
    """Write a Jacobian lens as the `jlens` package does, for the states in `jacobians`, and as safetensors."""
    by_layer = {state - 1: J.half().contiguous() for state, J in sorted(jacobians.items())}
    content = {"J": by_layer, "n_prompts": n_prompts, "source_layers": list(by_layer), "d_model": d_model}
    pickled = folder / JACOBIANS
    with replacing_together(pickled.with_suffix(SAFE), pickled) as (safe, beside):
        _save(content, beside)
        save_file({str(layer): J for layer, J in by_layer.items()}, safe, {"n_prompts": str(n_prompts)})


def _save(content: object, path: Path) -> None:
    with path.open("wb") as file:  # a name would go into the file
        torch.save(content, file)
