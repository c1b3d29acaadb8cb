"""Writing a trained dictionary as SAELens writes its own, in half precision.

SAELens opens all but topk transcoders, for which it has no class.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from headlight.model.base.files import replacing_together
from headlight.model.features.sae_lens import CONFIG, WEIGHTS
from headlight.model.nn.config import TransformerConfig
from headlight.model.training.dictionaries.recipe import Place
from headlight.model.training.dictionaries.sparse import Sparse

FORMAT = "6.54.12"  # SAELens's version whose files these are


# Settings that distinguish models of equal width and depth.
SETTINGS = ("n_layers", "d_model", "n_heads", "d_vocab", "act_fn", "normalization_type", "positional_embedding_type")


def save(sparse: Sparse, place: Place, model_name: str, model_cfg: TransformerConfig, folder: Path) -> None:
    """Write cfg.json and sae_weights.safetensors into a folder."""
    cfg, tensors = sparse.saved()
    named = {"hook_name": place.hook_in} | ({} if place.is_autoencoder else {"hook_name_out": place.hook_out})
    settings = {name: getattr(model_cfg, name) for name in SETTINGS}
    origin = {"model_name": model_name, "sae_lens_version": FORMAT, "transformer_config": settings}
    reshape = "hook_z" if place.hook_in.endswith("hook_z") else "none"
    cfg |= {"dtype": "float32", "reshape_activations": reshape, "metadata": {**origin, **named}}
    with replacing_together(folder / CONFIG, folder / WEIGHTS) as (config, weights):
        save_file({name: tensor.to(torch.float16).contiguous() for name, tensor in tensors.items()}, weights)
        config.write_text(json.dumps(cfg, indent=1) + "\n", encoding="utf-8")
