"""Map the tensors of mixtures of experts that store one tensor per expert and matrix."""

from headlight.model.checkpoints.weight_map import WeightMap, linear
from headlight.model.nn.config import TransformerConfig


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
