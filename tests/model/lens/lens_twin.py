"""A model of ours as TransformerLens's HookedTransformer, by our config and our state dict."""

import warnings
from dataclasses import fields
from typing import Any

from torch import Tensor

from headlight.model import Transformer, TransformerConfig

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    from transformer_lens import HookedTransformer, HookedTransformerConfig

SAME = {field.name for field in fields(TransformerConfig)} & {field.name for field in fields(HookedTransformerConfig)}
# Where a step is another, TransformerLens goes by the name of transformers' class.
OLMO2, GPT_OSS = "Olmo2ForCausalLM", "GptOssForCausalLM"
OFF = -1.0  # of a soft cap


def lacks(model: Transformer) -> str | None:
    """What a model has and HookedTransformer has not, if there is something."""
    cfg = model.cfg
    parts = {
        "a scaling of rotary positions": cfg.rotary_scaling and cfg.rotary_scaling.kind in ("dynamic", "longrope"),
        "layers without positions": cfg.no_rope_layers,
        "a scale of ALiBi": cfg.alibi_scale != 1.0 or cfg.alibi_in_bfloat16,
        "the slopes of a number of heads that is no power of two": cfg.positional_embedding_type == "alibi"
        and cfg.n_heads & (cfg.n_heads - 1),
        "LayerNorms of queries and keys": cfg.use_qk_norm and cfg.normalization_type == "LN",
        "norms of all heads' queries that are not as wide as the stream": cfg.qk_norm_across_heads
        and cfg.n_heads * cfg.d_head != cfg.d_model,
        "biases of a gated MLP": cfg.num_experts is None
        and any(name.endswith("b_gate") and bias.any() for name, bias in model.named_parameters()),
        "another limit of experts than 7": cfg.mlp_limit not in (None, 7.0),
        "dense layers beside those with experts": cfg.dense_layers,
        "an embedding of another width than the stream": cfg.d_embed != cfg.d_model,
        "norms behind additions": cfg.post_norm,
        "clipped queries, keys and values": cfg.clip_qkv,
    }
    return next((what for what, has in parts.items() if has), None)


def lens_twin(model: Transformer) -> HookedTransformer:
    """The same weights in TransformerLens, which has the embeddings' scale in its weights, and no bias of a gate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of HookedTransformer, which is the oracle here
        twin = HookedTransformer(HookedTransformerConfig(**_settings(model.cfg), device="cpu", use_attn_result=True))
    missing, unexpected = twin.load_state_dict(_state(model), strict=False)
    assert not unexpected
    buffers = (".mask", ".IGNORE", "rotary_sin", "rotary_cos")
    unused = ("pos_embed.W_pos",) if model.cfg.positional_embedding_type == "alibi" else ()
    assert all(name.endswith((*buffers, *unused)) for name in missing), missing
    return twin


def _settings(cfg: TransformerConfig) -> dict[str, Any]:
    settings = {name: getattr(cfg, name) for name in SAME} | {
        "n_key_value_heads": cfg.n_key_value_heads if cfg.is_grouped else None,
        "attn_types": list(cfg.attn_types or ["local"] * cfg.n_layers),
        "use_local_attn": cfg.window_size is not None,
        "use_qk_norm": cfg.use_qk_norm and not cfg.qk_norm_across_heads,
        "use_normalization_before_and_after": cfg.use_normalization_before_and_after and cfg.normalize_before,
        "attn_scores_soft_cap": cfg.attn_scores_soft_cap or OFF,
        "output_logits_soft_cap": cfg.output_logits_soft_cap or OFF,
        "final_rms": cfg.normalization_type in ("RMS", "RMSPre"),
    }
    if cfg.mlp_limit is not None:
        settings |= {"original_architecture": GPT_OSS, "act_fn": "silu"}
    if not cfg.normalize_before:
        settings["original_architecture"] = OLMO2
    return settings | _scaling(cfg)


def _scaling(cfg: TransformerConfig) -> dict[str, Any]:
    scaling = cfg.rotary_scaling
    match scaling and scaling.kind:
        case "linear":
            return {"rotary_scaling_factor": scaling.factor}
        case "llama3":
            return {
                "use_NTK_by_parts_rope": True,
                "NTK_by_parts_factor": scaling.factor,
                "NTK_by_parts_low_freq_factor": scaling.low_freq_factor,
                "NTK_by_parts_high_freq_factor": scaling.high_freq_factor,
                "NTK_original_ctx_len": scaling.original_n_ctx,
            }
        case "yarn":
            return {
                "use_yarn_rope": True,
                "yarn_factor": scaling.factor,
                "yarn_attention_factor": scaling.attention_factor,
                "yarn_beta_fast": scaling.beta_fast,
                "yarn_beta_slow": scaling.beta_slow,
                "yarn_original_max_position_embeddings": scaling.original_n_ctx,
                "yarn_truncate": scaling.truncate,
            }
    return {}


def _state(model: Transformer) -> dict[str, Tensor]:
    whole = model.state_dict() | {"unembed.W_U": model.unembed.W_U, "unembed.b_U": model.unembed.b_U}
    whole["embed.W_E"] = whole["embed.W_E"] * model.cfg.embedding_scale
    return {theirs: tensor for name in whole for theirs, tensor in _renamed(model.cfg, name, whole[name]).items()}


def _renamed(cfg: TransformerConfig, name: str, tensor: Tensor) -> dict[str, Tensor]:
    layer, _, last = name.rpartition(".")
    if cfg.num_experts and ".mlp." in name:  # Linears of torch
        if last.startswith("W_"):
            return {f"{name}.weight": tensor.T}
        if cfg.mlp_limit is None:
            assert not tensor.any()
            return {}
        return {f"{layer}.{last.replace('b_', 'W_')}.bias": tensor}
    if last == "b_gate" or (cfg.gated_mlp and last == "b_in"):
        assert not tensor.any()
        return {} if last == "b_gate" else {name: tensor}
    if cfg.parallel_attn_mlp and cfg.parallel_norms == 1 and ".ln1." in name:
        return {name: tensor, name.replace(".ln1.", ".ln2."): tensor}
    if not cfg.normalize_before:
        return {name.replace("_post.", "."): tensor}
    return {name: tensor}
