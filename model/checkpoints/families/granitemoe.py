"""Granite-MoE folders: Granite's layers with several MLPs, of which each token chooses some.

All experts of a layer lie in one tensor for what they read and one for what they write, as [expert, out, in].

Source: transformers' GraniteMoeConfig, modeling_granitemoe and conversion_mapping.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import granite, llama
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, linear
from headlight.model.nn.config import TransformerConfig


def settings(config: Any) -> dict[str, Any]:
    """Translate Granite-MoE's config to the fields of `TransformerConfig`."""
    return granite.settings(config) | {
        "num_experts": config.num_local_experts,
        "experts_per_token": config.num_experts_per_tok,
        "norm_topk_prob": True,  # the same as a softmax over those chosen
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Granite-MoE's checkpoint tensors to parameter names."""
    return llama.outside(cfg) | layers(cfg, lambda layer: _layer(cfg, config, layer))


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    return llama.attention(cfg, config, at) | _experts(cfg, f"{at}block_sparse_moe.") | llama.norms(cfg, at)


def _experts(cfg: TransformerConfig, at: str) -> WeightMap:
    n_experts, d_mlp = cfg.num_experts or 0, cfg.d_mlp or 0
    weights = {"mlp.W_gate": linear(f"{at}router.layer.weight", cfg.d_model, n_experts)}
    into, out_of = (n_experts, 2 * d_mlp, cfg.d_model), (n_experts, cfg.d_model, d_mlp)
    for index in range(n_experts):
        for name, rows in (("gate", slice(d_mlp)), ("in", slice(d_mlp, None))):
            view = WeightView(f"{at}input_linear.weight", into, _matrix(index, rows))
            weights[f"mlp.experts.{index}.W_{name}"] = view
        view = WeightView(f"{at}output_linear.weight", out_of, _matrix(index, slice(None)))
        weights[f"mlp.experts.{index}.W_out"] = view
    return weights


def _matrix(index: int, rows: slice) -> Callable[[Tensor], Tensor]:
    """One expert's rows of a tensor of all, as [in, out]."""
    return lambda tensor: tensor[index, rows].T


READ = (*llama.BASE, "rms_norm_eps", "attention_bias", *granite.MULTIPLIERS, "num_local_experts", "num_experts_per_tok")
FAMILY = Architecture("granitemoe", settings, weight_map, Keys(READ)).family
