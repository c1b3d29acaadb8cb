"""Reader of SAELens's format: cfg.json and sae_weights.safetensors, one folder a dictionary.

Source: the files that SAELens 6.54 writes, its description of older ones, and its directory of those on the hub.
"""

from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.features.folding import folded, plain
from headlight.model.features.hub import came_from
from headlight.model.features.weights import checked
from headlight.model.runs.dictionary import Architecture, Dictionary, Gates, Origin, Output, Reading

CONFIG, WEIGHTS = "cfg.json", "sae_weights.safetensors"
ARCHITECTURES: dict[str, Architecture] = {
    "standard": "standard",
    "topk": "topk",
    "batchtopk": "batchtopk",
    "matryoshka_batchtopk": "batchtopk",
    "jumprelu": "jumprelu",
    "gated": "gated",
    "transcoder": "standard",
    "skip_transcoder": "standard",
    "jumprelu_transcoder": "jumprelu",
    "jumprelu_skip_transcoder": "jumprelu",
    "topk_transcoder": "topk",  # of which SAELens has no class: our own training writes it
}
# These were trained on centred writing weights, and their files do not say so.
CENTRED = (
    "jbloom/GPT2-Small-SAEs-Reformatted",
    "jbloom/GPT2-Small-Feature-Splitting-Experiment-Layer-8",
    "tommmcgrath/gpt2-small-mlp-out-saes",
)
NOT_CENTRED = ("hook_z", "hook_post", "hook_normalized")  # whatever is done to the weights that write to the stream
OLDER_NAMES = {
    "hook_point": "hook_name",
    "hook_point_head_index": "hook_head_index",
    "activation_fn_str": "activation_fn",
}


NORMALIZATIONS = ("none", "expected_average_only_in", "covariance_whitening", "layer_norm", "constant_norm_rescale")
# Supported values of settings that change the computation. Older versions wrote True for the constant factor.
ALLOWED: dict[str, tuple[object, ...]] = {
    "architecture": tuple(ARCHITECTURES),
    "activation_fn": (None, "relu", "topk"),
    "normalize_activations": (None, False, True, *NORMALIZATIONS),
    "reshape_activations": (None, "none", "hook_z"),
    "apply_b_dec_to_input": (True, False),
    "rescale_acts_by_decoder_norm": (None, True, False),
}


def recognises(folder: Path) -> bool:
    """Whether a folder is SAELens's."""
    return (folder / CONFIG).is_file()


def read(folder: Path, name: str) -> Dictionary:
    """The dictionary in a folder.

    Raises:
        CheckpointError: a file is missing or damaged, or asks for what is not supported; it says what.
    """
    cfg = _settings(read_json(folder / CONFIG))
    choice = _choice(cfg)
    tensors = plain(read_safetensors(folder / WEIGHTS))
    if choice == "batchtopk":
        tensors = _with_threshold(tensors)
    origin = _origin(cfg, folder)
    d_in, d_sae, hook_in = _size(cfg, "d_in"), _size(cfg, "d_sae"), _hook(cfg, "hook_name")
    is_transcoder = "transcoder" in str(cfg["architecture"])
    d_out = _size(cfg, "d_out") if is_transcoder else d_in
    weights = folded(folder, cfg, checked(tensors, _shapes(str(cfg["architecture"]), d_in, d_sae, d_out)))
    return Dictionary(
        name=name,
        hook_in=hook_in,
        architecture=choice,
        W_enc=weights["W_enc"],
        b_enc=weights["b_mag"] if choice == "gated" else weights["b_enc"],
        outputs=(
            Output(_hook(cfg, "hook_name_out") if is_transcoder else hook_in, weights["W_dec"], weights["b_dec"]),
        ),
        threshold=weights.get("threshold"),
        k=_size(cfg, "k") if choice == "topk" else None,
        gates=Gates(weights["r_mag"], weights["b_gate"]) if choice == "gated" else None,
        skip=weights["W_skip"].T if "W_skip" in weights else None,
        reading=Reading(centred=origin.centred and not hook_in.endswith(NOT_CENTRED)),
        b_dec_from_input=bool(cfg["apply_b_dec_to_input"]) and not is_transcoder,
        origin=origin,
    )


def _settings(raw: dict[str, Any]) -> dict[str, Any]:
    """Normalize a config of any version: flat, under the newest names, with defaults filled in."""
    metadata = raw.get("metadata")
    cfg = {OLDER_NAMES.get(key, key): value for key, value in raw.items()}
    cfg = (metadata if isinstance(metadata, dict) else {}) | cfg
    activation = cfg.get("activation_fn_kwargs")
    if cfg.get("activation_fn") == "topk" and isinstance(activation, dict) and "k" in activation:
        if others := [name for name, value in activation.items() if name != "k" and value]:
            raise CheckpointError(f"{CONFIG} says {others[0]} in activation_fn_kwargs, which is not read; it can be k.")
        cfg |= {"architecture": "topk", "k": activation["k"]}
    return {"architecture": "standard", "apply_b_dec_to_input": True} | cfg


def _choice(cfg: dict[str, Any]) -> Architecture:
    """Map the config to a supported architecture; options that would change the computation are refused."""
    for name, allowed in ALLOWED.items():
        if not any(value is cfg.get(name) or value == cfg.get(name) for value in allowed):
            listing = ", ".join(repr(value) for value in allowed if value is not None)
            raise CheckpointError(f"{CONFIG} says {name} {cfg[name]!r}, which is not read; it can be {listing}.")
    if cfg.get("normalize_activations") in ("layer_norm", "constant_norm_rescale"):
        raise CheckpointError(
            f"{CONFIG} says normalize_activations {cfg['normalize_activations']!r}: what it reads is divided by a "
            "number of each position's own, so that its features would not add up to the activation. Take one that was "
            f"trained with {', '.join(map(repr, NORMALIZATIONS[:3]))}."
        )
    if cfg.get("reshape_activations") == "hook_z" and not str(cfg.get("hook_name")).endswith("_z"):
        raise CheckpointError(f"{CONFIG} says reshape_activations 'hook_z' of {cfg.get('hook_name')}, which is no z.")
    for name in ("hook_head_index", "hook_head_index_out"):
        if cfg.get(name) is not None:
            raise CheckpointError(f"{CONFIG} says {name} {cfg[name]!r}: dictionaries of one head are not read.")
    if "transcoder" in cfg["architecture"] and cfg.get("normalize_activations") not in (None, False, "none"):
        raise CheckpointError(
            f"{CONFIG} says normalize_activations {cfg['normalize_activations']!r} of a transcoder, whose output "
            "SAELens does not bring back. It can be 'none'."
        )
    return ARCHITECTURES[cfg["architecture"]]


def _size(cfg: dict[str, Any], name: str) -> int:
    value = cfg.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CheckpointError(f"{CONFIG} says {name} {value!r}; it has to be a whole number of at least 1.")
    return value


def _hook(cfg: dict[str, Any], name: str) -> str:
    hook = cfg.get(name)
    if not isinstance(hook, str) or not hook:
        raise CheckpointError(
            f"{CONFIG} names no {name}, so that nothing tells what the dictionary is of. Write the activation's name "
            "into it, as TransformerLens calls it: blocks.2.hook_resid_pre."
        )
    return hook


def _shapes(architecture: str, d_in: int, d_sae: int, d_out: int) -> dict[str, tuple[int, ...]]:
    choice = ARCHITECTURES[architecture]
    shapes: dict[str, tuple[int, ...]] = {"W_enc": (d_in, d_sae), "W_dec": (d_sae, d_out), "b_dec": (d_out,)}
    biases = ("r_mag", "b_mag", "b_gate") if choice == "gated" else ("b_enc",)
    shapes |= dict.fromkeys(biases, (d_sae,))
    if choice in ("jumprelu", "batchtopk"):
        shapes["threshold"] = (d_sae,)
    if "skip" in architecture:
        shapes["W_skip"] = (d_out, d_in)
    return shapes


def _with_threshold(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """One threshold for each feature, of the one for all that training keeps."""
    tensors = dict(tensors)
    single = tensors.pop("topk_threshold", None)
    if single is not None and single.numel() == 1 and "b_enc" in tensors:
        tensors["threshold"] = single.float().reshape(1).expand(len(tensors["b_enc"]))
    if "threshold" not in tensors:
        raise CheckpointError(
            f"{WEIGHTS} has no threshold, so that what is active would depend on what else is in the batch. Save it "
            "with SAELens's save_inference_model."
        )
    return tensors


def _origin(cfg: dict[str, Any], folder: Path) -> Origin:
    """Weight processing of the model that it was trained on: SAELens applies none by default."""
    source = cfg.get("model_from_pretrained_kwargs")
    source = source if isinstance(source, dict) else {}
    known = any(came_from(repository, folder) for repository in CENTRED)
    return Origin(
        model=str(cfg.get("model_name") or ""),
        centred=known or source.get("center_writing_weights") is True,
        folded=source.get("fold_value_biases") is True,
        settings=cfg["transformer_config"] if isinstance(cfg.get("transformer_config"), dict) else {},
    )
