"""Translate the rotary position settings of transformers' configs.

Source: transformers' modeling_rope_utils, for the names and the defaults.
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


def rotary(config: Any, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """Translate a config's `rope_parameters`, or those of one kind of its layers.

    Only an architecture that reads `partial_rotary_factor` rotates a part of each head.

    Raises:
        ConfigError: an unknown scaling, or one that lacks a parameter.
    """
    parameters = config.rope_parameters if parameters is None else parameters
    scaling = _scaling(config, parameters)
    share = parameters.get("partial_rotary_factor", 1.0)
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
        "rotary_base": parameters["rope_theta"],
        "rotary_dim": int(decoder.head_width(config) * share),
        "rotary_scaling": scaling,
        "n_ctx": int(n_ctx * scaling.factor) if scaling and scaling.kind == "dynamic" else n_ctx,
    }


def local(config: Any) -> dict[str, Any]:
    """Translate the separate rotary base of layers with an attention window.

    Raises:
        ConfigError: the config scales these positions, or has no base for them.
    """
    parameters = config.rope_parameters["sliding_attention"]
    if parameters["rope_type"] != "default":
        raise ConfigError(
            f"config.json scales the rotary positions of sliding_attention by {parameters['rope_type']!r}; only those "
            "of full_attention can be scaled."
        )
    return {"rotary_base_local": positive("config.json's rope_theta of sliding_attention", parameters["rope_theta"])}


def _scaling(config: Any, parameters: dict[str, Any]) -> RotaryScaling | None:
    kind = parameters.get("rope_type", "default")
    if kind == "default":
        return None
    if kind not in get_args(Scaling):
        raise ConfigError(f"config.json scales rotary positions by {kind!r}; known are {', '.join(get_args(Scaling))}.")
    try:
        return _known(kind, config, parameters)
    except KeyError as error:
        raise ConfigError(f"config.json scales rotary positions by {kind!r}, but does not tell {error}.") from error


def _known(kind: Scaling, config: Any, parameters: dict[str, Any]) -> RotaryScaling:
    n_ctx = config.max_position_embeddings
    match kind:
        case "linear":
            return RotaryScaling(kind=kind, factor=parameters["factor"])
        case "dynamic":
            return RotaryScaling(kind=kind, factor=parameters["factor"], original_n_ctx=n_ctx)
        case "llama3":
            return RotaryScaling(
                kind=kind,
                factor=parameters["factor"],
                original_n_ctx=parameters["original_max_position_embeddings"],
                low_freq_factor=parameters["low_freq_factor"],
                high_freq_factor=parameters["high_freq_factor"],
            )
        case "yarn":
            original = parameters["original_max_position_embeddings"]
            factor = n_ctx / original if parameters["factor"] is None else parameters["factor"]
            attention_factor = parameters.get("attention_factor")
            return RotaryScaling(
                kind=kind,
                factor=factor,
                original_n_ctx=original,
                attention_factor=_yarn_attention(factor, parameters) if attention_factor is None else attention_factor,
                beta_fast=parameters.get("beta_fast") or 32.0,
                beta_slow=parameters.get("beta_slow") or 1.0,
                truncate=bool(config.rope_parameters.get("truncate", True)),  # not a layer kind's
            )
        case "longrope":
            original = parameters["original_max_position_embeddings"]
            attention_factor = parameters.get("attention_factor")
            return RotaryScaling(
                kind=kind,
                original_n_ctx=original,
                attention_factor=(
                    _longrope_attention(n_ctx, original, parameters) if attention_factor is None else attention_factor
                ),
                short_factor=tuple(parameters["short_factor"]),
                long_factor=tuple(parameters["long_factor"]),
            )


def _yarn_attention(factor: float, parameters: dict[str, Any]) -> float:
    def scale(mscale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0

    if (one := parameters.get("mscale")) and (all_dim := parameters.get("mscale_all_dim")):
        return scale(one) / scale(all_dim)
    return scale(1.0)


def _longrope_attention(n_ctx: int, original: int, parameters: dict[str, Any]) -> float:
    factor = parameters.get("factor")
    factor = n_ctx / original if factor is None else factor
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
