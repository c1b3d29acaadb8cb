"""Fold SAELens's scaling of activations and of decoder norms into a dictionary's weights.

A training checkpoint's weights are of activations times a constant or whitened, and it chooses features by what they
would write. Those that SAELens saves for use have all that folded in.

Source: SAELens 6.54, the fold_... methods and process_state_dict_for_saving_inference of its classes.
"""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.features.weights import checked

SCALER, WHITENING = "activation_scaler.json", "activation_whitening.safetensors"
FACTORS = ("scaling_factor", "finetuning_scaling_factor")


def plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in a precision that is computed with, without factors of the features that are all 1.

    Raises:
        CheckpointError: fine-tuning has left factors, which SAELens itself no longer reads.
    """
    tensors = {name: tensor.float() if tensor.dtype == torch.float64 else tensor for name, tensor in tensors.items()}
    factors = [tensors.pop(name) for name in FACTORS if name in tensors]
    if any(not torch.allclose(factor.float(), torch.ones(())) for factor in factors):
        raise CheckpointError(
            "sae_weights.safetensors holds a scaling_factor of each feature, which SAELens 6 no longer reads. Multiply "
            "the rows of W_dec by it, and save them without it."
        )
    return tensors


def folded(folder: Path, cfg: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights that read an activation as it is and choose features by how active they are, as SAELens folds them.

    Raises:
        CheckpointError: what activations were normalised by in training is not in the folder, or is damaged.
    """
    by_norms = cfg.get("rescale_acts_by_decoder_norm") is True and "topk" in str(cfg["architecture"])
    match cfg.get("normalize_activations"):
        case "covariance_whitening":
            tensors = _norms_folded(tensors) if by_norms else tensors  # before the matrix changes them
            return _unwhitened(folder, tensors, reads_b_dec=bool(cfg["apply_b_dec_to_input"]))
        case "expected_average_only_in" | True:
            factor = _scaling_factor(folder, cfg["normalize_activations"])
            tensors = tensors | {"W_enc": tensors["W_enc"].float() * factor}
            tensors |= {name: tensors[name].float() / factor for name in ("W_dec", "b_dec")}
            if by_norms and "threshold" in tensors:  # it is of what features write
                tensors["threshold"] = tensors["threshold"] / factor
    return _norms_folded(tensors) if by_norms else tensors


def _scaling_factor(folder: Path, said: object) -> float:
    """The constant that activations were multiplied by in training, which a checkpoint of SAELens's has beside it."""
    factor = read_json(folder / SCALER).get("scaling_factor") if (folder / SCALER).is_file() else None
    if not isinstance(factor, int | float) or isinstance(factor, bool) or not 0 < factor < math.inf:
        raise CheckpointError(
            f"cfg.json says normalize_activations {said!r}: it reads activations times a constant, which is not in "
            f"these files. Put {SCALER} of the same checkpoint beside cfg.json, or fold the constant into the weights "
            "by SAELens's fold_activation_norm_scaling_factor and save them by save_model."
        )
    return float(factor)


def _unwhitened(folder: Path, tensors: dict[str, Tensor], *, reads_b_dec: bool) -> dict[str, Tensor]:
    """Weights of (x - mean) @ matrix as weights of x; a checkpoint of SAELens's has both beside it."""
    if not (folder / WHITENING).is_file():
        raise CheckpointError(
            f"cfg.json says normalize_activations 'covariance_whitening': it reads whitened activations, and the "
            f"matrix is not in these files. Put {WHITENING} of the same checkpoint beside cfg.json, or fold it into "
            "the weights by SAELens's fold_activation_whitening and save them by save_model."
        )
    d_in = len(tensors["W_enc"])
    shapes = {"mean": (d_in,), "matrix": (d_in, d_in), "inverse_matrix": (d_in, d_in)}
    whitening = checked(plain(read_safetensors(folder / WHITENING)), shapes)
    matrix, inverse = whitening["matrix"].double(), whitening["inverse_matrix"].double()
    W_enc = matrix @ tensors["W_enc"].double()
    folded = tensors | {
        "W_enc": W_enc.float(),
        "W_dec": (tensors["W_dec"].double() @ inverse).float(),
        "b_dec": (tensors["b_dec"].double() @ inverse + whitening["mean"].double()).float(),
    }
    shift = whitening["mean"].double() @ W_enc
    for bias in ("b_enc", "b_gate", "b_mag") if not reads_b_dec else ():
        if bias in tensors:
            scale = tensors["r_mag"].double().exp() if bias == "b_mag" else 1.0
            folded[bias] = (tensors[bias].double() - shift * scale).float()
    return folded


def _norms_folded(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Normalised decoder rows, with their norms moved into the encoder: top-k then ranks by size of the write."""
    norms = tensors["W_dec"].float().norm(dim=-1)
    return tensors | {
        "W_enc": tensors["W_enc"].float() * norms,
        "b_enc": tensors["b_enc"].float() * norms,
        "W_dec": tensors["W_dec"].float() / norms.clamp(min=torch.finfo(torch.float32).tiny)[:, None],
    }
