"""Llama folders, and the parts that similar families share with it.

Source: transformers' LlamaConfig and modeling_llama.
"""

import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints import rope
from headlight.model.checkpoints.architecture import Architecture, activation, layers, save_folder
from headlight.model.checkpoints.decoder import embedding, heads, sizes
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap, linear, vector
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer

EPS = 1e-5  # of the norms, where a config tells none, as OLMo's
BASE = (*rope.READ, "num_key_value_heads", "intermediate_size", "hidden_act")
READ = (*BASE, "rms_norm_eps", "attention_bias", "mlp_bias")
NAMES = ("gate_proj", "up_proj", "down_proj")  # of an MLP's linear layers


def settings(config: Any, positions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Translate Llama's config to `TransformerConfig` fields; `positions` overrides its rotary parameters."""
    return sizes(config, config.num_key_value_heads) | {
        "d_mlp": config.intermediate_size,
        **_activation(config),
        "gated_mlp": True,
        "normalization_type": "RMS",
        "eps": getattr(config, "rms_norm_eps", EPS),
        **rope.rotary(config, positions),
    }


def _activation(config: Any) -> dict[str, Any]:
    """The MLPs' activation, by whichever of two names the architecture reads; gpt-oss reads neither."""
    names = [name for name in ("hidden_act", "hidden_activation") if hasattr(config, name)]
    return {"act_fn": activation(getattr(config, names[0]))} if names else {}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map Llama's checkpoint tensors to parameter names."""
    weights = layers(
        cfg, lambda layer: attention(cfg, config, layer) | gated_mlp(cfg, config, layer) | norms(cfg, layer)
    )
    return weights | outside(cfg)


def outside(cfg: TransformerConfig) -> WeightMap:
    """Map the tensors outside the layers: embedding, final norm, and the unembedding where it is not tied."""
    return embedding(cfg, "embed_tokens.weight") | {"ln_final.w": vector("norm.weight", cfg.d_model)}


def attention(cfg: TransformerConfig, config: Any, layer: str) -> WeightMap:
    """A layer's attention, with the biases that the config asks for; that of the output has a name in Seed-OSS's."""
    bias = getattr(config, "attention_bias", False)
    return heads(cfg, f"{layer}self_attn.", "o_proj", bias, getattr(config, "attention_out_bias", bias))


def gated_mlp(cfg: TransformerConfig, config: Any, layer: str, names: Sequence[str] = NAMES) -> WeightMap:
    """Map a layer's MLP, with biases if the config sets them; the names are of gate, linear part and output."""
    (gate, into, out), d_mlp = (f"{layer}mlp.{name}" for name in names), cfg.d_mlp_dense or 0
    weights = {
        "mlp.W_gate": linear(f"{gate}.weight", cfg.d_model, d_mlp),
        "mlp.W_in": linear(f"{into}.weight", cfg.d_model, d_mlp),
        "mlp.W_out": linear(f"{out}.weight", d_mlp, cfg.d_model),
    }
    if getattr(config, "mlp_bias", False):
        weights |= {
            "mlp.b_gate": vector(f"{gate}.bias", d_mlp),
            "mlp.b_in": vector(f"{into}.bias", d_mlp),
            "mlp.b_out": vector(f"{out}.bias", cfg.d_model),
        }
    return weights


def norms(cfg: TransformerConfig, layer: str) -> WeightMap:
    """The gains of the norms before attention and MLP."""
    return {
        "ln1.w": vector(f"{layer}input_layernorm.weight", cfg.d_model),
        "ln2.w": vector(f"{layer}post_attention_layernorm.weight", cfg.d_model),
    }


LLAMA = Architecture("llama", settings, weight_map, Keys(READ))
FAMILY = LLAMA.family


def save_llama(model: Transformer, folder: str | Path) -> None:
    """Write config.json and model.safetensors, which transformers' `LlamaForCausalLM.from_pretrained` opens.

    Each file appears whole or not at all. The tokenizer is not written.

    Raises:
        ConfigError: a setting that no Llama of transformers has; the message names it.
    """
    from transformers import LlamaConfig  # a second, which few need

    cfg = model.cfg
    bos = model.tokenizer.bos_token_id if model.tokenizer else None
    config = LlamaConfig(
        vocab_size=cfg.d_vocab,
        hidden_size=cfg.d_model,
        intermediate_size=cfg.d_mlp or 0,
        num_hidden_layers=cfg.n_layers,
        num_attention_heads=cfg.n_heads,
        num_key_value_heads=cfg.n_key_value_heads,
        head_dim=cfg.d_head,
        hidden_act=cfg.act_fn,
        max_position_embeddings=cfg.n_ctx,
        rms_norm_eps=cfg.eps,
        rope_parameters={"rope_type": "default", "rope_theta": cfg.rotary_base},
        tie_word_embeddings=cfg.tie_word_embeddings,
        attention_bias=_any_bias(model, "attn"),
        mlp_bias=_any_bias(model, "mlp"),
        bos_token_id=bos,
        eos_token_id=bos,
        architectures=["LlamaForCausalLM"],
        dtype="float32",
    )
    _require(cfg, TransformerConfig(**settings(LLAMA.keys.select(config))))
    save_folder(Path(folder), LLAMA.prefix, weight_map(cfg, config), model, config.to_json_string())


def _any_bias(model: Transformer, part: str) -> bool:
    """Whether anything is added in this part of any layer."""
    return any(bool(bias.any()) for name, bias in model.named_parameters() if re.search(rf"\.{part}\._?b_", name))


def _require(cfg: TransformerConfig, llama: TransformerConfig) -> None:
    for field in fields(cfg):
        ours, theirs = getattr(cfg, field.name), getattr(llama, field.name)
        if ours != theirs and field.name not in ("dropout", "act_fn"):
            raise ConfigError(f"A Llama folder cannot hold {field.name} = {ours!r}; it can be {theirs!r}.")
