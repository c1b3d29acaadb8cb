"""Where the experts' parameters lie, in folders that hold a tensor for each of an expert's matrices."""

from headlight.model.checkpoints.weight_map import Pieces, linear
from headlight.model.nn.config import TransformerConfig


def experts(cfg: TransformerConfig, at: str, gate: str, linear_part: str, out: str) -> Pieces:
    """A layer's experts and their router, whose names begin with `at`; the names of an expert's matrices follow."""
    n_experts, d_mlp = cfg.num_experts or 0, cfg.d_mlp or 0
    found = {"mlp.W_gate": linear(f"{at}gate.weight", cfg.d_model, n_experts)}
    for index in range(n_experts):
        ours, theirs = f"mlp.experts.{index}.", f"{at}experts.{index}."
        found |= {
            f"{ours}W_gate": linear(f"{theirs}{gate}.weight", cfg.d_model, d_mlp),
            f"{ours}W_in": linear(f"{theirs}{linear_part}.weight", cfg.d_model, d_mlp),
            f"{ours}W_out": linear(f"{theirs}{out}.weight", d_mlp, cfg.d_model),
        }
    return found
