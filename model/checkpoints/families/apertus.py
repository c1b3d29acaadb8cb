"""Apertus folders: Qwen3's norms of queries and keys, MLPs without a gate whose activation each layer has learned.

Source: transformers' ApertusConfig, modeling_apertus and XIELUActivation.
"""

from types import SimpleNamespace
from typing import Any

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import arcee, llama, qwen3
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, vector
from headlight.model.nn.config import TransformerConfig

LEARNED = "xielu"


def settings(config: Any) -> dict[str, Any]:
    """Translate Apertus's config to the fields of `TransformerConfig`."""
    if config.hidden_act != LEARNED:
        return arcee.settings(config) | {"use_qk_norm": True}
    without = SimpleNamespace(**vars(config))
    del without.hidden_act  # which has a module of its own
    return arcee.settings(without) | {"use_qk_norm": True, "act_fn": LEARNED}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Apertus's checkpoint tensors to parameter names."""
    return llama.outside(cfg) | layers(cfg, lambda layer: _layer(cfg, config, layer))


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    weights = {
        "ln1.w": vector(f"{at}attention_layernorm.weight", cfg.d_model),
        "ln2.w": vector(f"{at}feedforward_layernorm.weight", cfg.d_model),
    }
    weights |= llama.attention(cfg, config, at) | qwen3.head_norms(cfg, at) | arcee.plain_mlp(cfg, config, at)
    if cfg.act_fn == LEARNED:
        shapes = {"alpha_p": (1,), "alpha_n": (1,), "beta": (), "eps": ()}
        weights |= {f"mlp.act_fn.{name}": WeightView(f"{at}mlp.act_fn.{name}", shape) for name, shape in shapes.items()}
    return weights


KEYS = Keys((*llama.BASE, "rms_norm_eps", "attention_bias"))
FAMILY = Architecture("apertus", settings, weight_map, KEYS).family
