"""A small dictionary of random directions as SAELens saves it, whose features are active here and there."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file


def save_dictionary(
    folder: Path, hook: str, width: int, *, n_features: int = 60, out: str = "", seed: int = 0, **cfg: object
) -> Path:
    """Save an autoencoder of an activation, or a transcoder from it to another as wide."""
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(seed)
    W_dec = torch.randn(n_features, width, generator=generator)
    W_dec /= W_dec.norm(dim=-1, keepdim=True)
    tensors = {
        "W_enc": 0.8 * W_dec.T.contiguous(),
        "W_dec": W_dec,
        "b_enc": -0.2 * torch.rand(n_features, generator=generator),
        "b_dec": 0.1 * torch.randn(width, generator=generator),
    }
    save_file(tensors, folder / "sae_weights.safetensors")
    config = {"architecture": "standard", "d_in": width, "d_sae": n_features, "apply_b_dec_to_input": True}
    named = {"hook_name": hook, **({"hook_name_out": out} if out else {})}
    made = {"architecture": "transcoder", "d_out": width} if out else {}
    (folder / "cfg.json").write_text(json.dumps({**config, **made, "metadata": named, **cfg}))
    return folder
