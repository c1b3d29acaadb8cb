"""Reader of EleutherAI's sparsify format: cfg.json and sae.safetensors, in a folder named after the hooked module.

Source: sparsify's SparseCoder, SparseCoderConfig and fused_encoder, of October 2025.
"""

from pathlib import Path

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.features.weights import checked
from headlight.model.runs.dictionary import Dictionary, Output

CONFIG, WEIGHTS = "cfg.json", "sae.safetensors"


def recognises(folder: Path) -> bool:
    """Whether a folder is sparsify's."""
    return (folder / CONFIG).is_file() and (folder / WEIGHTS).is_file()


def read(folder: Path, name: str) -> Dictionary:
    """The dictionary in a folder: an autoencoder of a module's output, or a transcoder from its input.

    Raises:
        CheckpointError: a file is damaged, or asks for what is not supported; it says what.
    """
    cfg = read_json(folder / CONFIG)
    if cfg.get("activation", "topk") != "topk":
        raise CheckpointError(f"{CONFIG} says activation {cfg['activation']!r}, which is not read; it can be 'topk'.")
    if cfg.get("signed"):
        raise CheckpointError(f"{CONFIG} says signed {cfg['signed']!r}, which is not read; it can be false.")
    d_in, k = _size(cfg.get("d_in"), "d_in"), _size(cfg.get("k"), "k")
    n_features = _size(cfg.get("num_latents") or d_in * _size(cfg.get("expansion_factor", 32), "size"), "num_latents")
    transcodes, skips = cfg.get("transcode") is True, cfg.get("skip_connection") is True
    shapes: dict[str, tuple[int, ...]] = {"encoder.weight": (n_features, d_in), "encoder.bias": (n_features,)}
    shapes |= {"W_dec": (n_features, d_in), "b_dec": (d_in,)} | ({"W_skip": (d_in, d_in)} if skips else {})
    weights = checked(read_safetensors(folder / WEIGHTS), shapes)
    module = (folder.parent if folder.name.startswith("seed") else folder).name  # of several seeds each has a folder
    if not any(character.isdigit() for character in module) and module != "embed_tokens":
        raise CheckpointError(
            f"The folder {module} does not say what it is of. Keep the name that sparsify gave it, such as layers.3 or "
            "layers.3.mlp."
        )
    return Dictionary(
        name=name,
        hook_in=f"{module}.input" if transcodes else module,
        architecture="topk",
        W_enc=weights["encoder.weight"].T,
        b_enc=weights["encoder.bias"],
        outputs=(Output(module, weights["W_dec"], weights["b_dec"]),),
        k=k,
        skip=weights["W_skip"].T if skips else None,
        b_dec_from_input=not transcodes,
    )


def _size(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CheckpointError(f"{CONFIG} says {name} {value!r}; it has to be a whole number of at least 1.")
    return value
