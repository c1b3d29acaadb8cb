"""How a GGUF file says that rotary positions are scaled, as config.json says it."""

from pathlib import Path
from typing import Any

import torch

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.gguf.header import Header
from headlight.model.checkpoints.gguf.parts import all_tensors

ROPE_FACTORS = "rope_freqs.weight"
# Rotary scaling of Llama 3.1 and later; a file has the resulting factors, which are compared with these.
LLAMA3: dict[str, Any] = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA3_CONTEXT = 8192


def scaling(path: Path, header: Header) -> dict[str, Any]:
    """Entries of config.json for scaled rotary positions; empty where they are not scaled.

    Raises:
        CheckpointError: they are scaled in a way that is not known.
    """
    how = header.setting("rope.scaling.type")
    if ROPE_FACTORS in header.tensors:
        return {"rope_scaling": _llama3(path, header)}
    if "rope_factors_long.weight" in header.tensors:
        factors = all_tensors(path)
        lists = {f"{name}_factor": factors[f"rope_factors_{name}.weight"].tolist() for name in ("long", "short")}
        original = header.setting("rope.scaling.original_context_length")
        return {"rope_scaling": {"rope_type": "longrope", **lists}, "original_max_position_embeddings": original}
    factor = header.setting("rope.scaling.factor")
    if how in (None, "none") or factor is None:
        return {}
    if how not in ("linear", "yarn"):
        raise CheckpointError(f"{path.name} scales rotary positions by {how!r}; known are linear and yarn.")
    settings: dict[str, Any] = {"rope_type": how, "factor": factor}
    if how == "yarn":
        settings["original_max_position_embeddings"] = header.setting("rope.scaling.original_context_length")
    return {"rope_scaling": settings}


def _llama3(path: Path, header: Header) -> dict[str, Any]:
    """Llama 3's scaling, of which a file holds each wave's factor: the whole one is that of the longest."""
    factors = all_tensors(path)[ROPE_FACTORS].float()
    factor = round(float(factors.max()), 3)
    scaling = LLAMA3 | {"factor": factor, "original_max_position_embeddings": LLAMA3_CONTEXT}
    theta = float(header.setting("rope.freq_base", 10000.0))
    waves = 2 * torch.pi * theta ** (torch.arange(len(factors)) / len(factors))
    low, high = LLAMA3_CONTEXT / LLAMA3["low_freq_factor"], LLAMA3_CONTEXT / LLAMA3["high_freq_factor"]
    smooth = (LLAMA3_CONTEXT / waves - 1.0) / (4.0 - 1.0)
    between = 1 / ((1 - smooth) / factor + smooth)
    expected = torch.where(waves > low, factor, torch.where(waves < high, 1.0, between))
    if not torch.allclose(factors, expected, rtol=1e-3):
        raise CheckpointError(
            f"{path.name} scales rotary positions by factors of its own ({ROPE_FACTORS}), which are none of Llama 3's."
        )
    return scaling
