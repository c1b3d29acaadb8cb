"""Map the tensors of mixtures of experts that store one tensor per expert and matrix, or one of all experts."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.weight_map import WeightMap, linear
from headlight.model.nn.config import TransformerConfig

QWEN = "mlp.experts.{}.", {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}
NAMES: Mapping[Any, tuple[str, Mapping[str, str]]] = {  # by model_type, of a single expert's matrices
    **dict.fromkeys(("olmoe", "qwen2_moe", "qwen3_moe"), QWEN),
    "mixtral": ("block_sparse_moe.experts.{}.", {"gate": "w1", "up": "w3", "down": "w2"}),
}
OF_ALL = re.compile(
    r"(?P<layer>.+\.)(mlp|block_sparse_moe)\.(switch_mlp\.(gate|up|down)_proj\.weight|experts\.(gate_up|down)_proj)"
)


def single_experts(tensors: dict[str, Tensor], model_type: object) -> dict[str, Tensor]:
    """Each expert's matrices by their published names, where a file holds those of all experts in one tensor.

    mlx-lm writes [expert, out, in] as switch_mlp; transformers has gate and linear part one behind the other.
    """
    if not isinstance(model_type, str) or model_type not in NAMES:
        return tensors
    place, names = NAMES[model_type]
    single = dict[str, Tensor]()
    for name, tensor in tensors.items():
        match = OF_ALL.fullmatch(name)
        if match is None or tensor.ndim != 3:
            single[name] = tensor
            continue
        parts = (match[4] or match[5]).split("_")
        for index in range(len(tensor)):
            at, matrices = match["layer"] + place.format(index), tensor[index].chunk(len(parts))
            single |= {f"{at}{names[part]}.weight": matrix for part, matrix in zip(parts, matrices, strict=True)}
    return single


def experts(cfg: TransformerConfig, at: str, gate: str, linear_part: str, out: str) -> WeightMap:
    """Map a layer's router and experts.

    Args:
        cfg: the model's config.
        at: prefix of the layer's tensor names.
        gate: name of an expert's gate matrix.
        linear_part: name of its linear input matrix.
        out: name of its output matrix.
    """
    n_experts, d_mlp = cfg.num_experts or 0, cfg.d_mlp or 0
    weights = {"mlp.W_gate": linear(f"{at}gate.weight", cfg.d_model, n_experts)}
    for index in range(n_experts):
        ours, theirs = f"mlp.experts.{index}.", f"{at}experts.{index}."
        weights |= {
            f"{ours}W_gate": linear(f"{theirs}{gate}.weight", cfg.d_model, d_mlp),
            f"{ours}W_in": linear(f"{theirs}{linear_part}.weight", cfg.d_model, d_mlp),
            f"{ours}W_out": linear(f"{theirs}{out}.weight", d_mlp, cfg.d_model),
        }
    return weights
