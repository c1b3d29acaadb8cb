"""Run TransformerLens's HookedTransformer on a state dict, as the reference for ours."""

from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.families.transformer_lens import BUFFERS
from headlight.model.checkpoints.reference import Reference
from headlight.model.checkpoints.state_dicts import PREFIXES, read_tensors, without_shared
from headlight.model.nn.config import TransformerConfig

PACKAGE = "transformer_lens"
STREAM, PATTERN = "hook_resid_pre", "hook_pattern"
WITHOUT_EFFECT = {"dropout", "parallel_norms"}  # it has no dropout, and a norm before each of attention and MLP
NO_SOFT_CAP = -1.0


def has_transformer_lens() -> bool:
    """Whether TransformerLens, which is no requirement, is installed."""
    return find_spec(PACKAGE) is not None


def lens_reference(
    path: Path, cfg: TransformerConfig, tokens: Int[Tensor, "batch pos"], patterns: bool = True
) -> Reference:
    """Run one forward pass in float32 of a HookedTransformer with these settings and unprocessed weights.

    Raises:
        ConfigError: TransformerLens is not installed, or has no such model.
        CheckpointError: the file is damaged, or holds something else.
    """
    if not has_transformer_lens():
        raise ConfigError(
            "Comparing a state dict with TransformerLens needs it installed: pip install 'transformer_lens<4'."
        )
    model = _hooked_transformer(cfg)
    _load(model, path, cfg)
    kinds = (STREAM, PATTERN) if patterns else (STREAM,)
    layers = range(cfg.n_layers)
    with torch.inference_mode():
        logits, cache = model.run_with_cache(tokens, names_filter=lambda name: name.endswith(kinds))
    streams = tuple(cache[f"blocks.{layer}.{STREAM}"] for layer in layers)
    return Reference(logits, streams, tuple(cache[f"blocks.{layer}.attn.{PATTERN}"] for layer in layers if patterns))


def _hooked_transformer(cfg: TransformerConfig) -> Any:
    lens = import_module(PACKAGE)
    settings = _settings(cfg, {field.name for field in fields(lens.HookedTransformerConfig)})
    try:
        return lens.HookedTransformer(lens.HookedTransformerConfig(**settings, device="cpu", init_weights=False))
    except (AssertionError, ValueError) as error:  # an activation that it does not know, say
        raise ConfigError(f"TransformerLens has no model of these settings: {error}.") from error


def _settings(cfg: TransformerConfig, known: set[str]) -> dict[str, Any]:
    """Translate our settings to its config, which uses the same names; others must be at their defaults."""
    ours = {field.name for field in fields(cfg)}
    same = {name: getattr(cfg, name) for name in ours & known}
    plain = TransformerConfig(**same)
    changed = {name for name in ours if getattr(cfg, name) != getattr(plain, name)}
    if unsupported := sorted(changed - known - WITHOUT_EFFECT):
        raise ConfigError(f"TransformerLens cannot compute this model: it has no setting {', '.join(unsupported)}.")
    return same | {
        "n_key_value_heads": cfg.n_key_value_heads if cfg.is_grouped else None,
        "use_local_attn": cfg.window_size is not None,
        "attn_types": list(cfg.attn_types or ["local"] * cfg.n_layers),
        "attn_scores_soft_cap": cfg.attn_scores_soft_cap or NO_SOFT_CAP,
        "output_logits_soft_cap": cfg.output_logits_soft_cap or NO_SOFT_CAP,
        "final_rms": cfg.normalization_type in ("RMS", "RMSPre"),
    }


def _load(model: Any, path: Path, cfg: TransformerConfig) -> None:
    """Copy a file's weights into its model, whose masks are made from the settings."""
    raw, _ = without_shared(read_tensors(path), PREFIXES)
    state = {name: tensor for name, tensor in raw.items() if not BUFFERS.fullmatch(name)}
    if cfg.tie_word_embeddings:  # a file of ours: TransformerLens ties nothing
        state |= {"unembed.W_U": state["embed.W_E"].T, "unembed.b_U": torch.zeros(cfg.d_vocab)}
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    wrong = shapes.keys() ^ state.keys() or {name for name in state if state[name].shape != shapes[name]}
    if wrong:
        raise ConfigError(f"TransformerLens's model and the file's tensors differ in {', '.join(sorted(wrong)[:3])}.")
    model.load_state_dict(state, strict=False)
