"""State dicts of TransformerLens's HookedTransformer, and of our own Transformer: a bare file of tensors.

Sizes are read off the shapes. What shapes cannot tell has to be said by the caller.
"""

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.config import TransformerConfig
from headlight.model.errors import CheckpointError, ConfigError
from headlight.model.families.family import Checkpoint, Family, Opening, shapes_of, skeleton
from headlight.model.families.tensors import listed, read_safetensors, taken
from headlight.model.files import read_torch

PICKLES = (".pt", ".pth")
BUFFERS = re.compile(r"blocks\.\d+\.attn\.(mask|IGNORE)")


def recognises(path: Path) -> bool:
    """Whether a path is a file of tensors."""
    return path.is_file() and path.suffix in (".safetensors", *PICKLES)


def read(path: Path, settings: dict[str, Any], how: Opening) -> Checkpoint[TransformerConfig]:
    """A state dict's config, inferred and completed by the caller's settings, and its tensors as they are.

    `eps` is 1e-5 and `attn_scale` sqrt(d_head) unless the settings say otherwise.

    Raises:
        CheckpointError: a damaged file, or tensors that do not make up one of our models.
        ConfigError: settings that the shapes cannot tell are missing; the message names them.
    """
    raw = read_pickle(path) if path.suffix in PICKLES else read_safetensors(path)
    _refuse_local_attention(raw)
    tensors = {name: tensor for name, tensor in raw.items() if not BUFFERS.fullmatch(name)}
    inferred = infer(tensors)
    _ask(path, inferred | settings)
    cfg = TransformerConfig(**(inferred | settings))
    return Checkpoint(cfg, taken(tensors, shapes_of(skeleton(cfg)), how), (path,))


FAMILY = Family(recognises, read)


def read_pickle(path: Path) -> dict[str, Tensor]:
    """The tensors of a file that `torch.save(model.state_dict(), path)` wrote, memory-mapped.

    Only tensors are unpickled (`weights_only`), so no code in the file is run.

    Raises:
        CheckpointError: the file is damaged, in torch's format of before 2020, or holds something else.
    """
    content = read_torch(path)
    if not isinstance(content, dict) or not all(map(_is_plain_tensor, content.values())):
        held = listed(list(map(str, content))) if isinstance(content, dict) else type(content).__name__
        raise CheckpointError(f"{path.name} holds no state dict but {held}. Save model.state_dict() alone.")
    return {str(name): tensor.detach() for name, tensor in content.items()}


def _is_plain_tensor(value: object) -> bool:
    return isinstance(value, Tensor) and value.layout is torch.strided and not value.is_meta


def infer(tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The settings that names and shapes tell."""
    d_vocab, d_model = _shape(tensors, "embed.W_E", 2)
    n_ctx, _ = _shape(tensors, "pos_embed.W_pos", 2)
    n_heads, _, d_head = _shape(tensors, "blocks.0.attn.W_Q", 3)
    told: dict[str, Any] = {
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
    if not told["attn_only"]:
        told["d_mlp"] = _shape(tensors, "blocks.0.mlp.W_in", 2)[1]
    if not told["tie_word_embeddings"]:
        told["d_vocab_out"] = _shape(tensors, "unembed.W_U", 2)[1]
    if "ln_final.w" in tensors:
        told["normalization_type"] = "LN"
    return told


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


def _ask(path: Path, known: dict[str, Any]) -> None:
    """Name what is still missing, with the call that gives it."""
    examples = {"act_fn": "relu", "normalization_type": "LNPre", "attention_dir": "causal"}
    if known["attn_only"]:
        del examples["act_fn"]
    missing = {name: example for name, example in examples.items() if name not in known}
    if missing:
        call = ", ".join(f'{name}="{example}"' for name, example in missing.items())
        raise ConfigError(
            f"The shapes in {path.name} do not tell {', '.join(missing)}. Say so: load(path, {call}), "
            "each as it was when the model was trained; eps and attn_scale too where they differ from 1e-5 and "
            "sqrt(d_head)."
        )


def _refuse_local_attention(raw: dict[str, Tensor]) -> None:
    """Old versions store the mask, and there a window shows that no name or shape would."""
    for name, mask in raw.items():
        if name.endswith(".attn.mask") and mask.numel() and not torch.equal(mask, torch.ones_like(mask).tril()):
            raise ConfigError(f"{name} is no causal mask; attention within a window is not supported.")
