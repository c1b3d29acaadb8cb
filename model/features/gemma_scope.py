"""Reading Gemma Scope: the first release's params.npz, and the second's config.json beside params.safetensors.

The first says nothing of itself: which activation it is of stands in the names of the folders around it, as on the hub.

Source: Lieberum et al. 2024, arXiv 2408.05147, and the folders' names on the hub; SAELens 6.54 and circuit-tracer 0.5
for what the second release's names mean.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.features.npz import read_npz
from headlight.model.features.weights import checked, width_of
from headlight.model.runs.dictionary import Dictionary, Origin, Output

PARAMS, SECOND_PARAMS, CONFIG = "params.npz", "params.safetensors", "config.json"
FIRST = re.compile(r"gemma-scope-(\w+)-(pt|it)-(res|mlp|att|transcoders)\b")
OF_FIRST = {
    "res": ("hook_resid_post", "hook_resid_post"),
    "mlp": ("hook_mlp_out", "hook_mlp_out"),
    "att": ("attn.hook_z", "attn.hook_z"),
    "transcoders": ("ln2.hook_normalized", "hook_mlp_out"),
}
# transformers' names of the modules, behind model.layers.<layer>, as TransformerLens's.
OF_SECOND = {
    "output": "hook_resid_post",
    "self_attn.o_proj.input": "attn.hook_z",
    "pre_feedforward_layernorm.output": "mlp.hook_in",
    "post_feedforward_layernorm.output": "hook_mlp_out",
}


def recognises(folder: Path) -> bool:
    """Whether a folder is Gemma Scope's."""
    return (folder / PARAMS).is_file() or ((folder / SECOND_PARAMS).is_file() and (folder / CONFIG).is_file())


def read(folder: Path, name: str) -> Dictionary:
    """The dictionary in a folder.

    Raises:
        CheckpointError: a file is damaged, or nothing tells what it is of.
    """
    return _first(folder, name) if (folder / PARAMS).is_file() else _second(folder, name)


def _first(folder: Path, name: str) -> Dictionary:
    hook_in, hook_out, model = _told_by_names(folder)
    return jumprelu(name, hook_in, hook_out, read_npz(folder / PARAMS), model)


def _told_by_names(folder: Path) -> tuple[str, str, str]:
    release, layer = FIRST.search(str(folder)), re.findall(r"layer_(\d{1,4})\b", str(folder))
    if release is None or not layer:
        raise CheckpointError(
            f"{PARAMS} does not say what it is of. Keep the names that its folders have on the hub, such as "
            "gemma-scope-2b-pt-res/layer_20/width_16k/average_l0_71, and give the path of the last."
        )
    size, tuned, kind = release.groups()
    hook_in, hook_out = (f"blocks.{int(layer[-1])}.{hook}" for hook in OF_FIRST[kind])
    return hook_in, hook_out, f"gemma-2-{size}" + ("-it" if tuned == "it" else "")


def _second(folder: Path, name: str) -> Dictionary:
    config = read_json(folder / CONFIG)
    if config.get("architecture") != "jump_relu":
        raise CheckpointError(f"{CONFIG} says architecture {config.get('architecture')!r}; it can be 'jump_relu'.")
    hook_in = _hook(config.get("hf_hook_point_in"))
    hook_out = _hook(config["hf_hook_point_out"]) if config.get("hf_hook_point_out") else hook_in
    tensors = {renamed(key): tensor for key, tensor in read_safetensors(folder / SECOND_PARAMS).items()}
    return jumprelu(name, hook_in, hook_out, tensors, str(config.get("model_name") or ""))


def renamed(key: str) -> str:
    """The second release's name of a tensor as the first's."""
    return {"w_enc": "W_enc", "w_dec": "W_dec", "affine_skip_connection": "W_skip"}.get(key, key)


def _hook(hook: object) -> str:
    match = re.fullmatch(r"model\.layers\.(\d{1,4})\.(.+)", hook) if isinstance(hook, str) else None
    if match is None or match[2] not in OF_SECOND:
        raise CheckpointError(
            f"{CONFIG} says {hook!r} for what it is of; known are model.layers.<layer> and {', '.join(OF_SECOND)}."
        )
    return f"blocks.{int(match[1])}.{OF_SECOND[match[2]]}"


def jumprelu(name: str, hook_in: str, hook_out: str, tensors: Mapping[str, Tensor], model: str) -> Dictionary:
    """Arrays of both releases: W_enc [d_in, feature], W_dec [feature, d_out], W_skip [d_in, d_out] and a threshold."""
    d_in, n_features = width_of(tensors, "W_enc", 2)
    d_out = width_of(tensors, "W_dec", 2)[1]
    shapes: dict[str, tuple[int, ...]] = {"W_enc": (d_in, n_features), "W_dec": (n_features, d_out), "b_dec": (d_out,)}
    shapes |= dict.fromkeys(("b_enc", "threshold"), (n_features,))
    shapes |= {"W_skip": (d_in, d_out)} if "W_skip" in tensors else {}
    weights = checked(tensors, shapes)
    return Dictionary(
        name=name,
        hook_in=hook_in,
        architecture="jumprelu",
        W_enc=weights["W_enc"],
        b_enc=weights["b_enc"],
        outputs=(Output(hook_out, weights["W_dec"], weights["b_dec"]),),
        threshold=weights["threshold"],
        skip=weights.get("W_skip"),
        origin=Origin(model),
    )
