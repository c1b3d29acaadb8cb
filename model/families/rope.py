"""Rotary positions as transformers' configs tell them.

Source: transformers' modeling_rope_utils, for the names and for what is taken where a setting is left out.
"""

import math
from typing import Any, get_args

from headlight.model.config import RotaryScaling, Scaling
from headlight.model.errors import ConfigError
from headlight.model.families.decoder import head_width


def rotary(config: Any, told: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of rotary positions, from a config's `rope_parameters` or those of one kind of its layers.

    Raises:
        ConfigError: a scaling that is not known, or that lacks what it takes.
    """
    told = config.rope_parameters if told is None else told
    scaling = _scaling(config, told)
    n_ctx = config.max_position_embeddings
    return {
        "positional_embedding_type": "rotary",
        "rotary_base": told["rope_theta"],
        "rotary_dim": int(head_width(config) * told.get("partial_rotary_factor", 1.0)),
        "rotary_scaling": scaling,
        "n_ctx": int(n_ctx * scaling.factor) if scaling and scaling.kind == "dynamic" else n_ctx,
    }


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
            factor = told.get("factor") or n_ctx / original
            return RotaryScaling(
                kind=kind,
                factor=factor,
                original_n_ctx=original,
                attention_factor=told.get("attention_factor") or _yarn_attention(factor, told),
                beta_fast=told.get("beta_fast") or 32.0,
                beta_slow=told.get("beta_slow") or 1.0,
                truncate=told.get("truncate", True),
            )
        case "longrope":
            original = told["original_max_position_embeddings"]
            return RotaryScaling(
                kind=kind,
                original_n_ctx=original,
                attention_factor=told.get("attention_factor") or _longrope_attention(n_ctx, original, told),
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
    factor = told.get("factor") or n_ctx / original
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
