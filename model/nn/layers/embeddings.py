"""Token, position and token type embeddings."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headlight.model.compute import product
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Tap
from headlight.model.nn.layers.norms import NoNorm, build_norm
from headlight.model.nn.layers.parameters import normal, widened, zeros


class Embed(nn.Module):
    """Token ids to their rows of W_E, times a scale and normalised where the model does that."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_embed is not None  # filled in by the config
        self.W_E = normal(cfg.d_vocab, cfg.d_embed)
        self.scale = cfg.embedding_scale
        self.ln = build_norm(cfg, cfg.d_embed) if cfg.post_embedding_ln else NoNorm()

    def forward(self, tokens: Int[Tensor, "batch pos"], tap: Tap = NO_TAP) -> Float[Tensor, "batch pos d_embed"]:
        rows = widened(self.W_E[tokens])
        return self.ln(rows if self.scale == 1.0 else rows * self.scale, tap.within("ln"))


class TiedEmbed(nn.Module):
    """Token ids to their rows of another embedding's W_E; no parameters of its own."""

    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = [embed]  # in a list, so that its parameters are not registered a second time

    @property
    def W_E(self) -> Float[Tensor, "d_vocab d_model"]:
        """The other's matrix itself."""
        return self._embed[0].W_E

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        return widened(self.W_E[tokens])


def drop_tokens(
    embedded: Float[Tensor, "batch pos d_embed"], dropped: Bool[Tensor, "batch pos"], n_real: Int[Tensor, "#batch"]
) -> Float[Tensor, "batch pos d_embed"]:
    """Zeros for the dropped tokens, the others larger by the share of a text that these are, as in a dropout.

    Source: transformers' EsmEmbeddings.
    """
    kept = (1 - dropped.sum(-1) / n_real).clamp(min=torch.finfo(embedded.dtype).eps)  # of a text of nothing else too
    return embedded.masked_fill(dropped[..., None], 0.0) / kept[:, None, None]


class PosEmbed(nn.Module):
    """Position indices to their rows of W_pos (learned, absolute)."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_embed is not None  # filled in by the config
        self.W_pos = normal(cfg.n_ctx, cfg.d_embed)

    def forward(self, positions: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_embed"]:
        return widened(self.W_pos[positions])


class TokenTypeEmbed(nn.Module):
    """Embedding of a token's segment (which of several texts it is in): a row of W_token_type.

    Source: TransformerLens's TokenTypeEmbed for the name.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_embed is not None  # filled in by the config
        assert cfg.n_token_types is not None  # else there would be no such embedding
        self.W_token_type = normal(cfg.n_token_types, cfg.d_embed)

    def forward(self, token_type_ids: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_embed"]:
        return widened(self.W_token_type[token_type_ids])


class EmbedProject(nn.Module):
    """From embeddings' width to the stream's."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_embed is not None  # filled in by the config
        self.W, self.b = normal(cfg.d_embed, cfg.d_model), zeros(cfg.d_model)

    def forward(self, embedded: Float[Tensor, "batch pos d_embed"]) -> Float[Tensor, "batch pos d_model"]:
        return product(embedded, self.W, "batch pos d_embed, d_embed d_model -> batch pos d_model", self.b)


class SinusoidalPosEmbed(nn.Module):
    """Position indices to sines (even components) and cosines (odd) of wavelengths from 2 pi to 10000 * 2 pi.

    Source: Vaswani et al. 2017, section 3.5.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.d_model = cfg.d_model

    def forward(self, positions: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        pairs = torch.arange(0, self.d_model, 2, device=positions.device)
        angles = positions[..., None] / 10000.0 ** (pairs.double() / self.d_model)
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        return waves[..., : self.d_model].to(torch.get_default_dtype())
