"""Rotary positions: pairs of a query's and key's components are turned by an angle that grows with the position.

The dot product of a turned query and a turned key depends on their distance alone. What is turned how far is computed
in float32 in the order in which transformers computes it, so that long prompts come out the same.

Source: Su et al. 2021, "RoFormer"; transformers' modeling_rope_utils for the scalings.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.nn.config import RotaryScaling, TransformerConfig

Waves = tuple[Float[Tensor, "#batch pos 1 dim"], Float[Tensor, "#batch pos 1 dim"]]  # cosines, sines
Frequencies = Float[Tensor, " pair"]  # radians a token


@dataclass(frozen=True)
class Rotary:
    """Rotary embedding of a layer's queries and keys; `TransformerConfig` documents the settings."""

    dim: int
    base: float
    adjacent_pairs: bool
    scaling: RotaryScaling | None
    n_ctx: int
    query_growth: float | None = None
    query_growth_n_ctx: int | None = None
    clockwise: bool = False

    def waves(self, positions: Int[Tensor, "#batch pos"], n_pos: int) -> Waves:
        """Cosine and sine at each position, for each component that is turned; `n_pos` is how long the text is."""
        angles = positions[..., None].float() * self.frequencies(n_pos).to(positions.device)
        angles = angles.repeat_interleave(2, -1) if self.adjacent_pairs else torch.cat([angles, angles], -1)
        factor = self.scaling.attention_factor if self.scaling else 1.0
        sines = -angles.sin() if self.clockwise else angles.sin()
        return (angles.cos() * factor)[:, :, None], (sines * factor)[:, :, None]

    def frequencies(self, n_pos: int) -> Frequencies:
        """Rotation angle of each pair per token, in a text of this many tokens."""
        if self.scaling is None:
            return self._unscaled(self.base)
        match self.scaling.kind:
            case "linear":
                return self._unscaled(self.base) / self.scaling.factor
            case "dynamic":
                return self._dynamic(self.scaling, n_pos)
            case "yarn":
                return self._yarn(self.scaling)
            case "llama3":
                return self._llama3(self.scaling)
            case "longrope":
                return self._longrope(self.scaling, n_pos)

    def turn(self, x: Float[Tensor, "batch pos head d_head"], waves: Waves) -> Float[Tensor, "batch pos head d_head"]:
        """Each head's query or key, turned; components behind the first `dim` stay as they are."""
        cos, sin = waves
        turned = x[..., : self.dim]
        turned = turned * cos + self._quarter_turn(turned) * sin
        return turned if self.dim == x.shape[-1] else torch.cat([turned, x[..., self.dim :]], -1)

    def turn_queries(
        self,
        x: Float[Tensor, "batch pos head d_head"],
        waves: Waves,
        positions: Int[Tensor, "#batch pos"],
    ) -> Float[Tensor, "batch pos head d_head"]:
        """Each head's query, turned, and longer at later positions where the model has that.

        Source: transformers' get_llama_4_attn_scale.
        """
        turned = self.turn(x, waves)
        if self.query_growth is None:
            return turned
        assert self.query_growth_n_ctx is not None  # as the config has checked
        return turned * (1 + self.query_growth * torch.log1p(positions // self.query_growth_n_ctx))[:, :, None, None]

    def _quarter_turn(self, x: Float[Tensor, "... dim"]) -> Float[Tensor, "... dim"]:
        """Each pair (a, b) as (-b, a)."""
        if self.adjacent_pairs:
            return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
        a, b = x.chunk(2, -1)
        return torch.cat([-b, a], -1)

    def _exponents(self) -> Frequencies:
        return torch.arange(0, self.dim, 2).float() / self.dim

    def _unscaled(self, base: float) -> Frequencies:
        return 1.0 / base ** self._exponents()

    def _dynamic(self, scaling: RotaryScaling, n_pos: int) -> Frequencies:
        """A larger base for a text that is longer than the context (Source: bloc97 2023, dynamic NTK)."""
        assert scaling.original_n_ctx is not None
        stretch = scaling.factor * max(n_pos, scaling.original_n_ctx) / scaling.original_n_ctx - (scaling.factor - 1)
        return self._unscaled(self.base * stretch ** (self.dim / (self.dim - 2)))

    def _yarn(self, scaling: RotaryScaling) -> Frequencies:
        """Fast pairs as they are, slow ones by the factor slower, a ramp between (Source: Peng et al. 2023)."""
        assert scaling.original_n_ctx is not None

        def pair(turns: float) -> float:  # the pair that makes so many turns within the context
            context = scaling.original_n_ctx or 0
            return self.dim * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(self.base))

        low, high = pair(scaling.beta_fast), pair(scaling.beta_slow)
        if scaling.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, self.dim - 1)
        ramp = (torch.arange(self.dim // 2).float() - low) / ((high - low) or 0.001)
        kept = 1 - ramp.clamp(0, 1)
        powers = self.base ** self._exponents()
        return 1.0 / (scaling.factor * powers) * (1 - kept) + 1.0 / powers * kept

    def _llama3(self, scaling: RotaryScaling) -> Frequencies:
        """Long waves by the factor longer, short ones as they are, smoothly between (Source: Llama 3.1)."""
        assert scaling.original_n_ctx is not None
        plain = self._unscaled(self.base)
        waves, (low, high) = 2 * math.pi / plain, (scaling.low_freq_factor, scaling.high_freq_factor)
        smooth = (scaling.original_n_ctx / waves - low) / (high - low)
        between = (1 - smooth) * plain / scaling.factor + smooth * plain
        long, short = waves > scaling.original_n_ctx / low, waves < scaling.original_n_ctx / high
        return torch.where(long, plain / scaling.factor, torch.where(short, plain, between))

    def _longrope(self, scaling: RotaryScaling, n_pos: int) -> Frequencies:
        """A factor for each pair, and others for a text that is longer than the first context (Source: Ding 2024)."""
        assert scaling.original_n_ctx is not None
        factors = scaling.long_factor if n_pos > scaling.original_n_ctx else scaling.short_factor
        return 1.0 / (torch.tensor(factors) * self.base ** self._exponents())


def build_rotary(cfg: TransformerConfig, layer: int) -> Rotary | None:
    """Build the rotary embedding of a layer; None where it has none."""
    if cfg.positional_embedding_type != "rotary" or layer in cfg.no_rope_layers:
        return None
    assert cfg.rotary_dim is not None  # filled in by the config
    base, scaling = cfg.rotary_base, cfg.rotary_scaling
    if cfg.rotary_base_local is not None and cfg.window(layer) is not None:
        base, scaling = cfg.rotary_base_local, None
    growth = cfg.query_growth, cfg.query_growth_n_ctx
    return Rotary(cfg.rotary_dim, base, cfg.rotary_adjacent_pairs, scaling, cfg.n_ctx, *growth, cfg.rotary_clockwise)
