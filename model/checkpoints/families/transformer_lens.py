"""State dicts of TransformerLens's HookedTransformer, and of our own Transformer: a bare file of tensors.

Sizes are inferred from the shapes; the caller gives the other settings.
"""

import json
import re
from collections.abc import Container
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError, ConfigError
from headlight.model.checkpoints.family import Checkpoint, Family, Opening, Questions, shapes_of, skeleton
from headlight.model.checkpoints.state_dicts import (
    PREFIXES,
    SUFFIXES,
    note_of,
    read_state_dict,
    read_tensors,
    without_shared,
)
from headlight.model.checkpoints.tensors import taken
from headlight.model.nn.config import Activation, AttentionDirection, TransformerConfig

BRIDGE = re.compile(r"_original_component|^blocks\.\d+\.attn\.(q|k|v|o|qkv)\.weight$")
BUFFERS = re.compile(r"blocks\.\d+\.attn\.(mask|IGNORE)")


def recognises(path: Path) -> bool:
    """Whether a path is a file of tensors."""
    return path.is_file() and path.suffix in SUFFIXES


def read(path: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[TransformerConfig]:
    """Read a state dict; its config is inferred from the shapes and completed by the caller's settings.

    Raises:
        CheckpointError: a damaged file, or tensors that do not make up one of our models.
        ConfigError: settings that shapes do not determine are missing; the message names them.
    """
    file = read_state_dict(path)
    raw, prefix = without_shared(file.tensors, PREFIXES)
    _refuse_bridge(path, raw)
    tensors = {name: tensor for name, tensor in raw.items() if not BUFFERS.fullmatch(name)}
    inferred = infer(tensors)
    if settings.get("parallel_attn_mlp") and "blocks.0.ln2.w" in tensors:
        inferred["parallel_norms"] = 2  # TransformerLens has one each for attention and MLP
    _ask(path, inferred, settings)
    _check_masks(raw, settings)
    if settings["positional_embedding_type"] == "alibi":
        del tensors["pos_embed.W_pos"]  # TransformerLens saves one that nothing reads
    cfg = TransformerConfig(**(inferred | settings))
    state = taken(tensors, shapes_of(skeleton(cfg)), how)
    return Checkpoint(cfg, state, (path,), note_of(file, prefix))


def questions_of(path: Path, settings: Container[str]) -> Questions:
    """List the settings that neither a file's shapes nor `settings` determine.

    Raises:
        CheckpointError: a damaged file, or one that is no state dict of TransformerLens.
    """
    return questions(infer(without_shared(read_tensors(path, shapes_only=True), PREFIXES)[0]), settings)


FAMILY = Family(None, read, questions=questions_of, recognises=recognises)


def infer(tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Infer settings from the tensors' names and shapes."""
    d_vocab, d_model = _shape(tensors, "embed.W_E", 2)
    n_ctx, _ = _shape(tensors, "pos_embed.W_pos", 2)
    n_heads, _, d_head = _shape(tensors, "blocks.0.attn.W_Q", 3)
    inferred: dict[str, Any] = {
        "n_layers": len({name.split(".")[1] for name in tensors if name.startswith("blocks.")}),
        "d_model": d_model,
        "n_ctx": n_ctx,
        "n_heads": n_heads,
        "d_head": d_head,
        "d_value": _shape(tensors, "blocks.0.attn.W_V", 3)[2],
        "d_vocab": d_vocab,
        "attn_only": "blocks.0.mlp.W_in" not in tensors,
        "tie_word_embeddings": "unembed.W_U" not in tensors,
    }
    if not inferred["attn_only"]:
        inferred["d_mlp"] = _shape(tensors, "blocks.0.mlp.W_in", 2)[1]
    if not inferred["tie_word_embeddings"]:
        inferred["d_vocab_out"] = _shape(tensors, "unembed.W_U", 2)[1]
    if "ln_final.w" in tensors:
        inferred["normalization_type"] = "LN" if "ln_final.b" in tensors or "blocks.0.ln1.b" in tensors else "RMS"
    return inferred


def _shape(tensors: dict[str, Tensor], name: str, ndim: int) -> tuple[int, ...]:
    if name not in tensors:
        raise CheckpointError(
            f"The file has no {name}, so it is no TransformerLens state dict with learned positions. "
            "Give a Hugging Face model by its folder, not by the file in it."
        )
    shape = tuple(tensors[name].shape)
    if len(shape) != ndim:
        raise CheckpointError(f"{name} has shape {list(shape)}; it needs {ndim} axes.")
    return shape


# Settings that shapes do not determine, with their values, the most frequent first; a window of None is no window.
QUESTIONS: dict[str, tuple[object, ...]] = {
    "act_fn": ("relu", *(name for name in get_args(Activation) if name != "relu")),
    "normalization_type": ("LNPre", "RMSPre", None),
    "attention_dir": get_args(AttentionDirection),
    "positional_embedding_type": ("standard", "alibi"),
    "attn_scale": (None, 1.0),
    "window_size": (None,),
}
# Settings that shapes do not determine either, which most models leave at their defaults.
OPTIONAL = (
    "attn_types",
    "eps",
    "scale_attn_by_inverse_layer_idx",
    "parallel_attn_mlp",
    "attn_scores_soft_cap",
    "output_logits_soft_cap",
)
MEANINGS = (
    'positions that are added to the stream are "standard", those added to queries and keys alone "shortformer", which '
    "is not supported; attn_scale=None divides scores by sqrt(d_head), 1.0 by nothing (use_attn_scale=False); "
    "window_size is how many tokens local attention sees, itself included, or None; give "
    f"{', '.join(OPTIONAL[:-1])} and {OPTIONAL[-1]}, too, where they were not TransformerLens's own"
)


def questions(inferred: dict[str, Any], settings: Container[str]) -> Questions:
    """List the settings that neither the shapes nor `settings` determine."""
    needless = {"act_fn", "parallel_attn_mlp"} if inferred["attn_only"] else set[str]()
    known = {*inferred, *needless}
    required = {name: answers for name, answers in QUESTIONS.items() if name not in known and name not in settings}
    defaults = {field.name: field.default for field in fields(TransformerConfig)}
    optional = {name: defaults[name] for name in OPTIONAL if name not in known and name not in settings}
    return Questions(required, optional, inferred["n_layers"])


def _ask(path: Path, inferred: dict[str, Any], settings: dict[str, Any]) -> None:
    """Refuse missing settings, and show the call that gives them."""
    if settings.get("positional_embedding_type") == "shortformer":
        raise ConfigError(
            f"{path.name} adds positions to queries and keys alone (shortformer), which is not supported. Look into it "
            "with TransformerLens, or train the model with standard positions."
        )
    missing = {name: answers[0] for name, answers in questions(inferred, settings).required.items()}
    if missing:
        call = ", ".join(f"{name}={json.dumps(each) if each else each}" for name, each in missing.items())
        raise ConfigError(
            f"The shapes in {path.name} do not tell {', '.join(missing)}. Say so: load(path, {call}), each as it was "
            f"when the model was trained: {MEANINGS}."
        )


def _refuse_bridge(path: Path, raw: dict[str, Tensor]) -> None:
    if any(BRIDGE.search(name) for name in raw):
        raise CheckpointError(
            f"{path.name} is the state dict of a TransformerBridge (TransformerLens 3), which holds a Hugging Face "
            "model's tensors under other names. Write that model by bridge.original_model.save_pretrained(folder) and "
            "bridge.tokenizer.save_pretrained(folder), and open the folder."
        )


def _check_masks(raw: dict[str, Tensor], settings: dict[str, Any]) -> None:
    """Compare stored causal masks, of old versions, with the window in the settings."""
    for name, mask in raw.items():
        if not name.endswith(".attn.mask") or not mask.numel() or settings["window_size"] is not None:
            continue
        if not torch.equal(mask, torch.ones_like(mask).tril()):
            raise ConfigError(
                f"{name} is no causal mask, so attention is within a window: give it as window_size, and which layers "
                "have it as attn_types."
            )
