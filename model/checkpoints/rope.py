"""Rotary positions as transformers' configs tell them.

Source: transformers' modeling_rope_utils, for the names and for what is taken where a setting is left out.
"""

import math
from typing import Any, get_args

from headlight.model.base.checks import positive
from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints import decoder
from headlight.model.nn.config import RotaryScaling, Scaling

READ = (
    *decoder.READ,
    "max_position_embeddings",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "original_max_position_embeddings",
    "head_dim",
)


def rotary(config: Any, told: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of rotary positions, from a config's `rope_parameters` or those of one kind of its layers.

    Only an architecture that reads `partial_rotary_factor` turns a part of each head.

    Raises:
        ConfigError: a scaling that is not known, or that lacks what it takes.
    """
    told = config.rope_parameters if told is None else told
    scaling = _scaling(config, told)
    share = told.get("partial_rotary_factor", 1.0)
    if not hasattr(config, "partial_rotary_factor"):
        if scaling and share != 1:
            raise ConfigError(
                f"config.json scales rotary positions of a part of each head (partial_rotary_factor {share!r}); a "
                f"{config.model_type} turns whole heads. Take partial_rotary_factor out, or correct model_type."
            )
        share = 1.0
    n_ctx = config.max_position_embeddings
    return {
        "positional_embedding_type": "rotary",
        "rotary_base": told["rope_theta"],
        "rotary_dim": int(decoder.head_width(config) * share),
        "rotary_scaling": scaling,
        "n_ctx": int(n_ctx * scaling.factor) if scaling and scaling.kind == "dynamic" else n_ctx,
    }


def local(config: Any) -> dict[str, Any]:
    """The base of the rotary positions of layers with a window, where a config tells it apart.

    Raises:
        ConfigError: it scales them, or has no base for them.
    """
    told = config.rope_parameters["sliding_attention"]
    if told["rope_type"] != "default":
        raise ConfigError(
            f"config.json scales the rotary positions of sliding_attention by {told['rope_type']!r}; only those of "
            "full_attention can be scaled."
        )
    return {"rotary_base_local": positive("config.json's rope_theta of sliding_attention", told["rope_theta"])}


def _scaling(config: Any, told: dict[str, Any]) -> RotaryScaling | None:
    kind = told.get("rope_type", "default")
    if kind == "default":
        return None
    if kind not in get_args(Scaling):
        raise ConfigError(f"config.json scales rotary positions by {kind!r}; known are {', '.join(get_args(Scaling))}.")
    try:
        return _known(kind, config, told)
    except KeyError as error:
        raise ConfigError(f"config.json scales rotary positions by {kind!r}, but does not tell {error}.") from error


def _known(kind: Scaling, config: Any, told: dict[str, Any]) -> RotaryScaling:
    n_ctx = config.max_position_embeddings
    match kind:
        case "linear":
            return RotaryScaling(kind=kind, factor=told["factor"])
        case "dynamic":
            return RotaryScaling(kind=kind, factor=told["factor"], original_n_ctx=n_ctx)
        case "llama3":
            return RotaryScaling(
                kind=kind,
                factor=told["factor"],
                original_n_ctx=told["original_max_position_embeddings"],
                low_freq_factor=told["low_freq_factor"],
                high_freq_factor=told["high_freq_factor"],
            )
        case "yarn":
            original = told["original_max_position_embeddings"]
            factor = n_ctx / original if told["factor"] is None else told["factor"]
            attention_factor = told.get("attention_factor")
            return RotaryScaling(
                kind=kind,
                factor=factor,
                original_n_ctx=original,
                attention_factor=_yarn_attention(factor, told) if attention_factor is None else attention_factor,
                beta_fast=told.get("beta_fast") or 32.0,
                beta_slow=told.get("beta_slow") or 1.0,
                truncate=bool(config.rope_parameters.get("truncate", True)),  # beside what is told of kinds of layers
            )
        case "longrope":
            original = told["original_max_position_embeddings"]
            attention_factor = told.get("attention_factor")
            return RotaryScaling(
                kind=kind,
                original_n_ctx=original,
                attention_factor=(
                    _longrope_attention(n_ctx, original, told) if attention_factor is None else attention_factor
                ),
                short_factor=tuple(told["short_factor"]),
                long_factor=tuple(told["long_factor"]),
            )


def _yarn_attention(factor: float, told: dict[str, Any]) -> float:
    def scale(mscale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0

    if (one := told.get("mscale")) and (all_dim := told.get("mscale_all_dim")):
        return scale(one) / scale(all_dim)
    return scale(1.0)


def _longrope_attention(n_ctx: int, original: int, told: dict[str, Any]) -> float:
    factor = told.get("factor")
    factor = n_ctx / original if factor is None else factor
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
