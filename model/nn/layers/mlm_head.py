"""The transform before the unembedding of a masked language model."""

from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.compute import product
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Tap
from headlight.model.nn.layers.mlp import ACTIVATIONS
from headlight.model.nn.layers.norms import NoNorm, build_norm
from headlight.model.nn.layers.parameters import normal, zeros


class MLMHead(nn.Module):
    """A linear layer, an activation function and a norm.

    Source: Devlin et al. 2018, "BERT"; TransformerLens's BertMLMHead for the names.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_embed is not None  # filled in by the config
        assert cfg.mlm_act_fn is not None  # else there would be no such head
        self.W, self.b = normal(cfg.d_model, cfg.d_embed), zeros(cfg.d_embed)
        self.act_fn = ACTIVATIONS[cfg.mlm_act_fn]
        self.ln = build_norm(cfg, cfg.d_embed)

    def forward(self, resid: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos d_embed"]:
        pre = product(resid, self.W, "batch pos d_model, d_model d_embed -> batch pos d_embed", self.b)
        return self.ln(self.act_fn(tap("hook_pre", pre)), tap.within("ln"))


def build_mlm_head(cfg: TransformerConfig) -> nn.Module:
    """Build the head that the config asks for, or the identity."""
    return NoNorm() if cfg.mlm_act_fn is None else MLMHead(cfg)
