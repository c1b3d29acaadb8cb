"""A dictionary while it is trained: topk, batchtopk or jumprelu, of one activation or from one to another.

It is trained on activations that are brought to a mean squared length of their width; what is saved reads and writes
them as they are. The rows of the decoder have length 1, so that an activation says how much is written.

Source: Gao et al. 2024, arXiv 2406.04093 (topk; the loss that revives dead features, appendix A.2); Rajamanoharan et
al. 2024, arXiv 2407.14435 (jumprelu, its gradient estimated in a band around the threshold).
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

Kind = Literal["topk", "batchtopk", "jumprelu"]
BANDWIDTH = 0.1  # of the band around a threshold in which the estimate of its gradient is not 0
FIRST_THRESHOLD = 0.1
BAR_MOVES = 0.01  # of the way to a batch's own, each step
DEAD_SHARE = 1 / 32  # of the loss that has dead features say what the others leave out


@dataclass(frozen=True)
class Shape:
    """Shape of a dictionary in training: widths of input and output, number of features, and of active ones.

    `k` is exact for topk, a mean over the batch for batchtopk, and for jumprelu the mean that its loss asks for. A
    feature is dead that was not active for `dead_after` tokens; at most `k_dead` of them at a time say what the others
    leave out.
    """

    kind: Kind
    d_in: int
    d_out: int
    n_features: int
    k: int
    is_autoencoder: bool
    dead_after: int = 100_000
    k_dead: int = 64


class Sparse(nn.Module):
    """A dictionary in training; `scales` [in, out] are what activations are multiplied by on the way in and out."""

    idle: Tensor
    scales: Tensor
    bar: Tensor

    def __init__(self, shape: Shape, seed: int) -> None:
        super().__init__()
        self.shape = shape
        drawn = torch.Generator().manual_seed(seed)
        W_dec = F.normalize(torch.randn(shape.n_features, shape.d_out, generator=drawn), dim=-1)
        W_enc = torch.randn(shape.d_in, shape.n_features, generator=drawn) * shape.d_in**-0.5
        self.W_dec = nn.Parameter(W_dec)
        self.W_enc = nn.Parameter(W_dec.T.clone() if shape.is_autoencoder else W_enc)
        self.b_enc = nn.Parameter(torch.zeros(shape.n_features))
        self.b_dec = nn.Parameter(torch.zeros(shape.d_out))
        if shape.kind == "jumprelu":
            self.log_threshold = nn.Parameter(torch.full((shape.n_features,), FIRST_THRESHOLD).log())
        self.register_buffer("idle", torch.zeros(shape.n_features))
        self.register_buffer("scales", torch.ones(2))
        self.register_buffer("bar", torch.zeros(()))  # what batchtopk's features have had to exceed, of late

    @torch.no_grad()
    def begin(self, read: Float[Tensor, "token d_in"], target: Float[Tensor, "token d_out"]) -> None:
        """Take the scales and the decoder's bias from some activations."""
        self.scales.copy_(torch.stack([_scale(read), _scale(target)]))
        self.b_dec.copy_(target.mean(0) * self.scales[1])

    def losses(self, read: Float[Tensor, "token d_in"], target: Float[Tensor, "token d_out"]) -> dict[str, Tensor]:
        """Training losses: unexplained variance, that of dead features, and jumprelu's sparsity penalty.

        `l0`, how many features are active, and `dead` are for the log.
        """
        read, target = read * self.scales[0], target * self.scales[1]
        pre = F.linear(read - self.b_dec if self.shape.is_autoencoder else read, self.W_enc.T, self.b_enc)
        rows = F.normalize(self.W_dec, dim=-1)
        acts, l0 = {"topk": self._topk, "batchtopk": self._batchtopk, "jumprelu": self._jumprelu}[self.shape.kind](pre)
        error = target - acts @ rows - self.b_dec
        self._count(acts.detach() > 0)
        variance = (target - target.mean(0)).square().sum(-1).mean()
        terms = {"unexplained": error.square().sum(-1).mean() / variance, "l0": l0}
        if self.shape.kind == "jumprelu":
            terms["too_many"] = (l0 / self.shape.k - 1).square()
        return terms | self._revived(pre, rows, error.detach())

    def _topk(self, pre: Float[Tensor, "token feature"]) -> tuple[Float[Tensor, "token feature"], Float[Tensor, ""]]:
        values, indices = pre.topk(self.shape.k, dim=-1, sorted=False)
        acts = torch.zeros_like(pre).scatter(-1, indices, values.relu())
        return acts, (values.detach() > 0).sum(-1).float().mean()

    def _batchtopk(
        self, pre: Float[Tensor, "token feature"]
    ) -> tuple[Float[Tensor, "token feature"], Float[Tensor, ""]]:
        with torch.no_grad():
            some = pre[::4]  # of all, finding it would take as long as a product
            bar = some.flatten().kthvalue(some.numel() - self.shape.k * len(some)).values.clamp(min=0)
            self.bar.copy_(bar if self.bar == 0 else self.bar.lerp(bar, BAR_MOVES))
            above = pre > bar
        return pre * above, above.sum(-1).float().mean()

    def _jumprelu(
        self, pre: Float[Tensor, "token feature"]
    ) -> tuple[Float[Tensor, "token feature"], Float[Tensor, ""]]:
        step = _step(pre, self.log_threshold.exp())
        return pre.relu() * step, step.sum(-1).mean()

    def _count(self, active: Bool[Tensor, "token feature"]) -> None:
        self.idle.add_(len(active)).masked_fill_(active.any(0), 0)

    def _revived(
        self,
        pre: Float[Tensor, "token feature"],
        rows: Float[Tensor, "feature d_out"],
        error: Float[Tensor, "token d_out"],
    ) -> dict[str, Tensor]:
        """Error of the strongest dead features in reconstructing the residual, relative to its variance."""
        dead = (self.idle > self.shape.dead_after).nonzero().flatten()
        figures = {"dead": torch.tensor(float(len(dead)))}
        if len(dead):
            values, indices = pre[:, dead].topk(min(self.shape.k_dead, len(dead)), dim=-1, sorted=False)
            said = torch.zeros(len(pre), len(dead)).scatter(-1, indices, values.relu()) @ rows[dead]
            figures["revival"] = (error - said).square().sum() / error.square().sum().clamp(min=1e-9)
        return figures

    @torch.no_grad()
    def saved(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Export to SAELens's format: the content of cfg.json, and the tensors with scales folded in."""
        shape, (scale_in, scale_out) = self.shape, self.scales
        kind = "topk" if shape.kind == "topk" else "jumprelu"
        architecture = kind if shape.is_autoencoder else f"{kind}_transcoder"
        cfg = {"architecture": architecture, "d_in": shape.d_in, "d_sae": shape.n_features}
        cfg |= {"k": shape.k} if shape.kind == "topk" else {}
        cfg |= {} if shape.is_autoencoder else {"d_out": shape.d_out}
        tensors = {
            "W_enc": self.W_enc * scale_in,
            "b_enc": self.b_enc.clone(),
            "W_dec": F.normalize(self.W_dec, dim=-1) / scale_out,
            "b_dec": self.b_dec / scale_out,
        }
        if shape.kind != "topk":
            bars = self.log_threshold.exp() if shape.kind == "jumprelu" else self.bar.expand(shape.n_features)
            tensors["threshold"] = bars.clone()
        return cfg | {"apply_b_dec_to_input": shape.is_autoencoder, "normalize_activations": "none"}, tensors


def _scale(activations: Float[Tensor, "token width"]) -> Float[Tensor, ""]:
    return (activations.shape[-1] / activations.square().sum(-1).mean()).sqrt()


class _Step(torch.autograd.Function):
    """Step function at a threshold; the threshold's gradient is estimated in a band around it, the input has none."""

    @staticmethod
    def forward(ctx: Any, pre: Tensor, threshold: Tensor) -> Tensor:
        ctx.save_for_backward(pre, threshold)
        return (pre > threshold).to(pre)

    @staticmethod
    def backward(ctx: Any, *gradient: Tensor) -> tuple[None, Tensor]:
        pre, threshold = ctx.saved_tensors
        near = ((pre - threshold).abs() < BANDWIDTH / 2).to(pre)
        return None, -(near * gradient[0]).sum(0) / BANDWIDTH


def _step(pre: Tensor, threshold: Tensor) -> Tensor:
    gate: Tensor = _Step.apply(pre, threshold)
    return gate
