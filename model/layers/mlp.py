"""The MLP of a block."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.model.config import TransformerConfig
from headlight.model.hooks import Tap
from headlight.model.kernels import product
from headlight.model.layers.parameters import normal, zeros

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


class MLP(nn.Module):
    """Two linear layers with a non-linearity between them."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_mlp is not None  # filled in by the config
        self.W_in, self.b_in = normal(cfg.d_model, cfg.d_mlp), zeros(cfg.d_mlp)
        self.W_out, self.b_out = normal(cfg.d_mlp, cfg.d_model), zeros(cfg.d_model)
        self.act_fn = ACTIVATIONS[cfg.act_fn]

    def forward(
        self, normalized_resid_mid: Float[Tensor, "batch pos d_model"], tap: Tap
    ) -> Float[Tensor, "batch pos d_model"]:
        to_mlp = "batch pos d_model, d_model d_mlp -> batch pos d_mlp"
        pre = product(normalized_resid_mid, self.W_in, to_mlp, self.b_in)
        post = tap("hook_post", self.act_fn(tap("hook_pre", pre)))
        return product(post, self.W_out, "batch pos d_mlp, d_mlp d_model -> batch pos d_model", self.b_out)
