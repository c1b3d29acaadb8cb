"""GPT-2 as nanoGPT and minGPT train it, and GPT-2's own state dict: a file whose settings stand beside it or nowhere.

Source: nanoGPT's model.py and train.py, minGPT's model.py.
"""

import re
from collections.abc import Container
from pathlib import Path
from typing import Any, get_args

from torch import Tensor

from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.checkpoints.architecture import UNEMBED, filled, plain_names
from headlight.model.checkpoints.families.gpt2 import BUFFERS, EMBEDDING, FUSED, PREFIX, has_linear_layers, weight_map
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, Questions, skeleton
from headlight.model.checkpoints.folders import is_tied
from headlight.model.checkpoints.state_dicts import (
    PREFIXES,
    SUFFIXES,
    StateDict,
    note_of,
    read_state_dict,
    without_shared,
)
from headlight.model.checkpoints.tensors import check_depth
from headlight.model.nn.config import Activation, TransformerConfig

INTO = "h.0.mlp.c_fc.weight"
# Entries that nanoGPT writes beside its state dict, by our names.
MODEL_ARGS = {"n_layer": "n_layers", "n_head": "n_heads", "n_embd": "d_model", "block_size": "n_ctx"}
MODEL_ARGS |= {"vocab_size": "d_vocab"}
ACTIVATIONS = ("gelu", "gelu_new")  # nanoGPT's today, and that of minGPT, GPT-2 and nanoGPT until 2023
USUAL_HEAD = 64


def recognises(path: Path) -> bool:
    """Whether a path is a file of GPT-2's tensors.

    Raises:
        CheckpointError: it is a damaged file.
    """
    if not path.is_file() or path.suffix not in SUFFIXES:
        return False
    return any(name.endswith(FUSED) for name in read_state_dict(path, shapes_only=True).tensors)


def read(path: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[TransformerConfig]:
    """Read the config and tensors of a state dict: settings from its shapes and from the file's other entries.

    Raises:
        CheckpointError: a damaged file, or tensors that are not a GPT-2's.
        ConfigError: settings that neither shapes nor the file tell are missing; the message names them.
    """
    file = read_state_dict(path)
    tensors, prefix = _named(file)
    is_linear = has_linear_layers(tensors)
    known = _known(file, tensors) | settings
    if missing := _questions(file, tensors, settings).required:
        call = "&".join(f"{name}={answers[0]}" for name, answers in missing.items())
        raise ConfigError(
            f"{path.name} does not tell {' and '.join(missing)}. Say so behind its name, each as it was when the model "
            f"was trained: {path.name}?{call}"
        )
    if known["d_model"] % known["n_heads"]:
        raise ConfigError(f"n_heads is {known['n_heads']}; it has to divide d_model, which is {known['d_model']}.")
    known.setdefault("d_head", known["d_model"] // known["n_heads"])
    cfg = TransformerConfig(**known)
    if cfg.tie_word_embeddings:
        tensors.pop(UNEMBED, None)
    check_depth(tensors, cfg.n_layers)
    weights = weight_map(cfg, is_linear)
    if not any(name.endswith(".bias") and not re.fullmatch(BUFFERS, name) for name in tensors):
        weights = {name: weight for name, weight in weights.items() if not weight.name.endswith(".bias")}
    state = filled(weights, tensors, BUFFERS, how, skeleton(cfg))
    kind = "GPT-2 with Linear layers, as nanoGPT and minGPT have it" if is_linear else "GPT-2's state dict"
    return Checkpoint(cfg, state, (path,), "; ".join(filter(None, (kind, note_of(file, prefix)))))


def questions(path: Path, settings: Container[str]) -> Questions:
    """List the settings that neither the file nor `settings` determine."""
    file = read_state_dict(path, shapes_only=True)
    return _questions(file, _named(file)[0], settings)


FAMILY = Family(None, read, questions=questions, recognises=recognises)


def _named(file: StateDict) -> tuple[dict[str, Tensor], str]:
    """Tensors by the names of GPT-2's body, and the wrappers that were removed."""
    tensors, prefix = without_shared(file.tensors, PREFIXES)
    tensors = plain_names(tensors, PREFIX)
    for name, n_axes in {FUSED: 2, INTO: 2, EMBEDDING: 2, "wpe.weight": 2}.items():
        if name not in tensors or tensors[name].ndim != n_axes:
            raise CheckpointError(f"The checkpoint holds {FUSED}, as a GPT-2 does, but no matrix {name}.")
    return tensors, prefix


def _known(file: StateDict, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Settings determined by shapes, and those that nanoGPT stores beside its tensors."""
    (d_vocab, d_model), of_mlp = tensors[EMBEDDING].shape, tensors[INTO].shape
    known: dict[str, Any] = {
        "n_layers": len({name.split(".")[1] for name in tensors if name.startswith("h.")}),
        "d_model": d_model,
        "n_ctx": len(tensors["wpe.weight"]),
        "d_vocab": d_vocab,
        "d_mlp": of_mlp[0 if has_linear_layers(tensors) else 1],
        "eps": 1e-5,
        "tie_word_embeddings": is_tied(tensors.get(UNEMBED), tensors[EMBEDDING]),
    }
    args = file.beside.get("model_args")
    if not isinstance(args, dict):
        return known
    inferred = {ours: args[name] for name, ours in MODEL_ARGS.items() if isinstance(args.get(name), int)}
    return known | {"act_fn": ACTIVATIONS[0]} | inferred


def _questions(file: StateDict, tensors: dict[str, Tensor], settings: Container[str]) -> Questions:
    known = _known(file, tensors)
    width = known["d_model"]
    usual = [width // USUAL_HEAD] if width % USUAL_HEAD == 0 else []
    divisors = [number for number in range(1, width + 1) if width % number == 0]
    answers: dict[str, tuple[object, ...]] = {
        "n_heads": tuple(dict.fromkeys([*usual, *divisors])),
        "act_fn": tuple(dict.fromkeys([*ACTIVATIONS, *get_args(Activation)])),
    }
    required = {name: each for name, each in answers.items() if name not in known and name not in settings}
    return Questions(required, {} if "eps" in settings else {"eps": known["eps"]}, known["n_layers"])
