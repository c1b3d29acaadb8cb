"""The MLP of a block: two layers, two with a gate, or several from which each token chooses."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.model.compute import product
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Tap
from headlight.model.nn.layers.parameters import normal, widened, zeros


class XIELU(nn.Module):
    """Expanded integral of the exponential linear unit: a quadratic above 0, an exponential below, both learned.

    Source: Huang et al. 2024, "Deriving Activation Functions Using Integration"; transformers' XIELUActivation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.alpha_p, self.alpha_n = zeros(1), zeros(1)
        self.beta, self.eps = (nn.Parameter(torch.tensor(value), requires_grad=False) for value in (0.5, -1e-6))

    def forward(self, x: Tensor) -> Tensor:
        above, below, beta, eps = map(widened, (self.alpha_p, self.alpha_n, self.beta, self.eps))
        curved = torch.where(
            x > 0, F.softplus(above) * x * x, (torch.expm1(torch.min(x, eps)) - x) * (beta + F.softplus(below))
        )
        return curved + beta * x


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "tanh": torch.tanh,  # of poolers alone
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),  # the sigmoid approximation of Hendrycks and Gimpel 2016
}
TO_MLP = "batch pos d_model, d_model d_mlp -> batch pos d_mlp"
ExpertOutput = tuple[
    int, Tensor, Tensor, Float[Tensor, "token d_model"]
]  # expert, rows, positions, what it gives there
FROM_MLP = "batch pos d_mlp, d_mlp d_model -> batch pos d_model"
HOOKS = ("hook_pre", "hook_pre_linear", "hook_post")
ROWS = 1024  # tokens at a time where nobody looks at neurons: as fast as all, with an eighth of the memory at 8,192


class MLP(nn.Module):
    """Two linear layers with a non-linearity between them."""

    def __init__(self, cfg: TransformerConfig, d_mlp: int) -> None:
        super().__init__()
        self.W_in, self.b_in = normal(cfg.d_model, d_mlp), zeros(d_mlp)
        self.W_out, self.b_out = normal(d_mlp, cfg.d_model), zeros(cfg.d_model)
        self.act_fn = XIELU() if cfg.act_fn == "xielu" else ACTIVATIONS[cfg.act_fn]

    def forward(
        self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap
    ) -> Float[Tensor, "_ pos d_model"]:  # an edit of the neurons may make a larger batch of one
        if _is_long(normalized_resid_mid) and not any(map(tap.look, HOOKS)):
            return self._by_rows(normalized_resid_mid)
        return product(self.post(normalized_resid_mid, tap), self.W_out, FROM_MLP, self.b_out)

    def _by_rows(self, normalized_resid_mid: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        out = torch.empty_like(normalized_resid_mid)
        for some, of_some in zip(normalized_resid_mid.split(ROWS, 1), out.split(ROWS, 1), strict=True):
            of_some.copy_(product(self.post(some, NO_TAP), self.W_out, FROM_MLP, self.b_out))
        return out

    def post(self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "_ pos d_mlp"]:
        """Activations of the neurons: the input of W_out."""
        pre = product(normalized_resid_mid, self.W_in, TO_MLP, self.b_in)
        return tap("hook_post", self.act_fn(tap("hook_pre", pre)))

    @property
    def reads(self) -> dict[str, tuple[str, Float[Tensor, "d_model d_mlp"]]]:
        """Matrices by which the neurons read: by name, the hook after each and the matrix."""
        return {"input": ("hook_pre", self.W_in)}


class GatedMLP(MLP):
    """An MLP whose activations are multiplied by a second linear layer: hook_pre is the gate, hook_pre_linear that.

    Source: Shazeer 2020, "GLU Variants Improve Transformer"; TransformerLens for the names.
    """

    def __init__(self, cfg: TransformerConfig, d_mlp: int) -> None:
        super().__init__(cfg, d_mlp)
        self.W_gate, self.b_gate = normal(cfg.d_model, d_mlp), zeros(d_mlp)

    def post(self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "_ pos d_mlp"]:
        """Activations of the neurons: the gate times the linear part."""
        gate = tap("hook_pre", product(normalized_resid_mid, self.W_gate, TO_MLP, self.b_gate))
        linear = tap("hook_pre_linear", product(normalized_resid_mid, self.W_in, TO_MLP, self.b_in))
        return tap("hook_post", self._gated(gate, linear))

    @property
    def reads(self) -> dict[str, tuple[str, Float[Tensor, "d_model d_mlp"]]]:
        """Matrices by which the neurons read: that of the gate and that of the gated values."""
        return {"gate": ("hook_pre", self.W_gate), "up": ("hook_pre_linear", self.W_in)}

    def _gated(self, gate: Float[Tensor, "_ pos d_mlp"], linear: Float[Tensor, "_ pos d_mlp"]) -> Tensor:
        return self.act_fn(gate) * linear


class ClippedGatedMLP(GatedMLP):
    """A gated MLP whose gate and linear part are clipped before they are multiplied, the latter with 1 added.

    `hook_pre` and `hook_pre_linear` are taken before that.

    Source: OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model Card", section 2.2; transformers' GptOssExperts.
    """

    def __init__(self, cfg: TransformerConfig, d_mlp: int) -> None:
        super().__init__(cfg, d_mlp)
        assert cfg.mlp_limit is not None  # else it would be a GatedMLP
        self.limit = cfg.mlp_limit

    def _gated(self, gate: Float[Tensor, "_ pos d_mlp"], linear: Float[Tensor, "_ pos d_mlp"]) -> Tensor:
        return self.act_fn(gate.clamp(max=self.limit)) * (linear.clamp(-self.limit, self.limit) + 1)


def _is_long(x: Float[Tensor, "batch pos d_model"]) -> bool:
    """Whether the neurons of all tokens would take much memory, on the CPU, for nothing that derivatives go to."""
    return x.shape[1] > ROWS and torch.is_inference_mode_enabled() and x.device.type == "cpu"


class MoE(nn.Module):
    """Mixture of experts: a router chooses some MLPs for each token and weights their outputs.

    The activations of an expert are those of the tokens that chose it: [batch=1, token, d_mlp]. Where one more expert
    is shared by all tokens, what it gives is weighted by the sigmoid of a product of its own.

    Source: Jiang et al. 2024, "Mixtral of Experts"; TransformerLens for the names.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.num_experts is not None  # else there would be one MLP
        assert cfg.experts_per_token is not None  # as the config has checked
        assert cfg.d_mlp is not None  # filled in by the config
        self.W_gate, self.b_gate = normal(cfg.d_model, cfg.num_experts), zeros(cfg.num_experts)
        self.experts = nn.ModuleList(_one_mlp(cfg, cfg.d_mlp) for _ in range(cfg.num_experts))
        self.n_chosen, self.norm_topk_prob = cfg.experts_per_token, cfg.norm_topk_prob
        self.shared_expert = None if cfg.d_mlp_shared is None else _one_mlp(cfg, cfg.d_mlp_shared)
        self.W_shared_gate = None if cfg.d_mlp_shared is None else normal(cfg.d_model, 1)

    def forward(
        self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap
    ) -> Float[Tensor, "batch pos d_model"]:
        shared = self.shared(normalized_resid_mid, tap)
        out = torch.zeros_like(normalized_resid_mid) if shared is None else shared
        for _, row, pos, output in self.by_expert(normalized_resid_mid, tap):
            out.index_put_((row, pos), output, accumulate=True)
        return out

    def shared(
        self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap
    ) -> Float[Tensor, "batch pos d_model"] | None:
        """Weighted output of the shared expert; None without one."""
        if self.shared_expert is None or self.W_shared_gate is None:
            return None
        weight = tap("hook_shared_expert_weight", product(normalized_resid_mid, self.W_shared_gate, TO_MLP).sigmoid())
        output: Tensor = self.shared_expert(normalized_resid_mid, tap.within("shared_expert"))
        return weight * output

    def by_expert(self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap) -> Iterator[ExpertOutput]:
        """Yield each expert's index, the places of the tokens routed to it, and its weighted output for them."""
        scores = product(normalized_resid_mid, self.W_gate, TO_MLP, self.b_gate)
        weights = tap("hook_expert_weights", scores.softmax(-1))
        weights, chosen = weights.topk(self.n_chosen, dim=-1)
        if self.norm_topk_prob:
            weights = weights / weights.sum(-1, keepdim=True)
        chosen = tap("hook_expert_indices", chosen)
        for index, expert in enumerate(self.experts):
            row, pos, place = (chosen == index).nonzero(as_tuple=True)
            if len(row) or tap.look(f"experts.{index}.hook_post"):
                output = expert(normalized_resid_mid[row, pos][None], tap.within(f"experts.{index}"))[0]
                yield index, row, pos, weights[row, pos, place, None] * output


def build_mlp(cfg: TransformerConfig, layer: int) -> nn.Module:
    """The MLP of a layer."""
    if cfg.num_experts is not None and layer not in cfg.dense_layers:
        return MoE(cfg)
    assert cfg.d_mlp_dense is not None  # filled in by the config
    return _one_mlp(cfg, cfg.d_mlp_dense)


def _one_mlp(cfg: TransformerConfig, d_mlp: int) -> nn.Module:
    if not cfg.gated_mlp:
        return MLP(cfg, d_mlp)
    return GatedMLP(cfg, d_mlp) if cfg.mlp_limit is None else ClippedGatedMLP(cfg, d_mlp)
