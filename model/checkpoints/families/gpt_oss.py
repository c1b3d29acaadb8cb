"""gpt-oss folders: biases everywhere, sinks, windows in turns, and experts that are clipped.

All experts of a layer lie in one tensor a matrix, as [expert, in, out], gate and linear part in turns.

Source: transformers' GptOssConfig and modeling_gpt_oss.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from headlight.model.checkpoints import rope
from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.families import llama, qwen2
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, linear, vector
from headlight.model.nn.config import TransformerConfig

ALPHA = 1.702  # quick_gelu's


def settings(config: Any) -> dict[str, Any]:
    """Translate gpt-oss's config to the fields of `TransformerConfig`."""
    return (
        llama.settings(config)
        | qwen2.windows(config)
        | {
            "act_fn": "quick_gelu",
            "mlp_limit": config.swiglu_limit,
            "num_experts": config.num_local_experts,
            "experts_per_token": config.num_experts_per_tok,
            "norm_topk_prob": True,  # the same as a softmax over those chosen
            "use_attention_sinks": True,
        }
    )


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map gpt-oss's checkpoint tensors to parameter names."""
    return llama.outside(cfg) | layers(cfg, lambda layer: of_layer(cfg, config, layer))


def of_layer(cfg: TransformerConfig, config: Any, layer: str) -> WeightMap:
    """Map one layer."""
    sinks = {"attn.sinks": vector(f"{layer}self_attn.sinks", cfg.n_heads)}
    return llama.attention(cfg, config, layer) | sinks | experts(cfg, f"{layer}mlp.") | llama.norms(cfg, layer)


def experts(cfg: TransformerConfig, at: str) -> WeightMap:
    """A layer's experts and their router."""
    n_experts, d_mlp = cfg.num_experts or 0, cfg.d_mlp or 0
    into, into_bias = (n_experts, cfg.d_model, 2 * d_mlp), (n_experts, 2 * d_mlp)
    weights = {
        "mlp.W_gate": linear(f"{at}router.weight", cfg.d_model, n_experts),
        "mlp.b_gate": vector(f"{at}router.bias", n_experts),
    }
    for index in range(n_experts):
        ours = f"mlp.experts.{index}."
        for turn, name in enumerate(("gate", "in")):
            weights[f"{ours}W_{name}"] = _of(f"{at}experts.gate_up_proj", into, index).then(_every_second(turn))
            weights[f"{ours}b_{name}"] = _of(f"{at}experts.gate_up_proj_bias", into_bias, index).then(
                _every_second(turn)
            )
        weights[f"{ours}W_out"] = _of(f"{at}experts.down_proj", (n_experts, d_mlp, cfg.d_model), index)
        weights[f"{ours}b_out"] = _of(f"{at}experts.down_proj_bias", (n_experts, cfg.d_model), index)
    return weights


def _of(name: str, shape: tuple[int, ...], index: int) -> WeightView:
    """One expert's part of a tensor of all."""
    return WeightView(name, shape, lambda tensor: tensor[index])


def _every_second(first: int) -> Callable[[Tensor], Tensor]:
    return lambda tensor: tensor[..., first::2]


KEYS = Keys(
    (
        *(*rope.READ, "num_key_value_heads", "intermediate_size", "rms_norm_eps", "attention_bias", "sliding_window"),
        *("layer_types", "num_local_experts", "num_experts_per_tok", "swiglu_limit"),
    ),
    DECODER | {"swiglu_alpha": (ALPHA,)},
)
FAMILY = Architecture("gpt_oss", settings, weight_map, KEYS).family
