"""Edge attribution patching: what every edge would change if it were B's, estimated from gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.running import EdgeRuns, Edges
from headlight.model.runs.host import HERE, Host, Steps


def edge_scores(runs: EdgeRuns, steps: int = 1, host: Host = HERE) -> Edges:
    """Estimate each edge's effect on target minus distractor (logits) if it alone came from B; 0 where there is none.

    It is the change of what the sender writes times the gradient for what the receiver reads: with one step the
    gradient in A, else its mean over so many runs whose embeddings are on the way from A's to B's (integrated
    gradients). Where attention is saturated in A its gradient is 0 there, and only the way tells of queries and keys.

    Source: Syed et al. 2023, arXiv 2310.10348; Hanna et al. 2024, arXiv 2403.17806, for integrated gradients.

    Raises:
        InputError: no steps.
    """
    if steps < 1:
        raise InputError(f"The scores are a mean over {steps} steps; it takes at least 1.")
    counted, total = Steps(host, steps), torch.zeros(0)
    for step in range(steps):
        share = 0.0 if steps == 1 else (step + 0.5) / steps
        gradients = _gradients(runs, share)
        total = gradients if step == 0 else total + gradients
        counted.add()
    with torch.no_grad():
        scores = torch.einsum("rpd,spd->rs", total / steps, runs.changes)
        return scores * runs.wires.before


def _gradients(runs: EdgeRuns, share: float) -> Float[Tensor, "receiver pos d_model"]:
    """The gradient for what each receiver reads, in a run that is so far on the way to B."""
    stream, n_receivers = runs.patching.base["resid_pre", 0], len(runs.wires.receivers)
    with torch.inference_mode(False), torch.enable_grad():
        beside = torch.zeros(n_receivers, *stream.shape, device=stream.device, requires_grad=True)
        whole = runs.wires.before.to(stream.dtype)
        return torch.autograd.grad(runs.run(whole, share, beside), beside)[0]
