"""CodeGen folders: GPT-J's layers, with queries, values and keys fused in four groups of heads.

Source: transformers' CodeGenConfig and modeling_codegen.
"""

from functools import partial
from typing import Any

from torch import Tensor

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.architecture import Architecture, layers
from headlight.model.checkpoints.decoder import biased_unembedding, mlp, norm, outside
from headlight.model.checkpoints.families import gptj
from headlight.model.checkpoints.weight_map import WeightMap, WeightView, writing
from headlight.model.nn.config import TransformerConfig

N_GROUPS = 4  # the devices that it was trained on
FUSED = "QVK"  # in this order within a group


def settings(config: Any) -> dict[str, Any]:
    """Translate CodeGen's config to the fields of `TransformerConfig`.

    Raises:
        ConfigError: its heads do not come in groups.
    """
    if config.num_attention_heads % N_GROUPS:
        raise ConfigError(
            f"config.json sets n_head to {config.num_attention_heads}; a codegen has a multiple of {N_GROUPS}."
        )
    return gptj.settings(config)


def weight_map(cfg: TransformerConfig, config: object) -> WeightMap:
    """Map CodeGen's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, layer), "h.{}.")
    return weights | outside(cfg, "ln_f", "wte.weight") | biased_unembedding(cfg)


def _layer(cfg: TransformerConfig, at: str) -> WeightMap:
    weights = norm("ln1", f"{at}ln_1", cfg.d_model) | mlp(cfg, f"{at}mlp.fc_in", f"{at}mlp.fc_out")
    weights["attn.W_O"] = writing(f"{at}attn.out_proj.weight", cfg.n_heads, cfg.d_head, cfg.d_model)
    shape = (3 * cfg.n_heads * cfg.d_head, cfg.d_model)
    for place, role in enumerate(FUSED):
        weights[f"attn.W_{role}"] = WeightView(
            f"{at}attn.qkv_proj.weight", shape, partial(_of_role, place, cfg.n_heads, cfg.d_head)
        )
    return weights


def _of_role(place: int, n_heads: int, d_head: int, tensor: Tensor) -> Tensor:
    grouped = tensor.unflatten(0, (N_GROUPS, len(FUSED), n_heads // N_GROUPS, d_head))
    return grouped[:, place].flatten(0, 1).transpose(1, 2)


FAMILY = Architecture(
    "codegen",
    settings,
    weight_map,
    gptj.KEYS,
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.(causal_mask|bias|masked_bias|embed_positions)",
    embedding="wte.weight",
).family
