"""The names of activations in files of dictionaries, as transformers' modules or TransformerLens 3's bridge call them.

A module's name stands for its output, `<module>.input` for its input. What that is of an activation with a
name here depends on the architecture: behind an MLP stands a norm in some, and in others a factor.
"""

import re

from headlight.model.base.errors import CheckpointError
from headlight.model.nn.config import TransformerConfig

OUTER = r"(?:base_model\.model\.)?(?:\w+\.)?(?:\w+\.)?"
LAYER = re.compile(rf"{OUTER}(?:layers|layer|h|blocks)\.(\d{{1,4}})(?:\.(.+))?", re.ASCII)
OUTSIDE = re.compile(rf"{OUTER}(\w+)", re.ASCII)
BRIDGE = re.compile(r"(.+)\.hook_(in|out)", re.ASCII)  # mlp.hook_in is one of ours too, and comes back
EMBEDDINGS = {
    "hook_embed": ("embed", "embed_tokens", "wte", "embed_in", "word_embeddings", "tok_embeddings"),
    "hook_pos_embed": ("pos_embed", "wpe", "position_embeddings", "embed_positions"),
}
PARTS = {
    "mlp": ("mlp", "feed_forward", "block_sparse_moe"),
    "attn": ("attn", "self_attn", "attention", "self_attention", "attn.attention"),
    "W_O": (
        *("attn.o", "self_attn.o_proj", "self_attn.out_proj", "self_attn.dense", "attn.c_proj", "attn.out_proj"),
        *("attn.attention.out_proj", "attention.dense", "self_attention.dense", "attn.Wo", "attention.out_lin"),
        "attention.output.dense",
    ),
    "W_out": (
        *("mlp.out", "mlp.down_proj", "mlp.c_proj", "mlp.dense_4h_to_h", "mlp.fc2", "mlp.fc_out", "fc2", "mlp.Wo"),
        *("ffn.lin2", "ffn.down_proj", "output.dense"),
    ),
    "ln1": (
        *("ln1", "input_layernorm", "ln_1", "self_attn_layer_norm", "ln_attn", "attn_norm", "norm_1"),
        "attention.LayerNorm",
    ),
    "ln2": (
        *("ln2", "pre_feedforward_layernorm", "ln_2", "ln_mlp", "mlp_norm", "final_layer_norm", "norm_2"),
        "LayerNorm",
    ),
    "ln1_post": ("ln1_post", "post_self_attn_layernorm"),
    "ln2_post": ("ln2_post", "post_feedforward_layernorm", "post_mlp_layernorm"),
}
ROLES = {module: role for role, modules in PARTS.items() for module in modules}


def translated(name: str, cfg: TransformerConfig) -> str:
    """An activation's name as this project has it, of a name that a file has; any other name is returned as it is.

    Raises:
        CheckpointError: a module of a layer that gives nothing that has a name here.
    """
    module, side = _sided(name)
    if "hook_" in module:
        return name
    if match := LAYER.fullmatch(module):
        layer, inner = int(match[1]), match[2] or ""
        if not inner and side == "output" and cfg.post_norm:  # the stream is normalised once more before the output
            is_named = layer + 1 < cfg.n_layers and not (layer == 0 and cfg.conv_kernel_size)
            layer, end = layer + 1, "hook_resid_pre" if is_named else None
        elif not inner:
            end = "hook_resid_pre" if side == "input" else "hook_resid_post"
        else:
            end = _inside(inner, side, cfg)
        if end is None:
            raise CheckpointError(
                f"It is of {name}, and nothing of this model that has a name here is that. Take a dictionary of a "
                "stream between layers, or of what attention or an MLP adds to it."
            )
        return f"blocks.{layer}.{end}"
    match = OUTSIDE.fullmatch(module)
    for ours, names in EMBEDDINGS.items():
        as_it_is = cfg.embedding_scale == 1.0 and not cfg.post_embedding_ln
        if match and match[1] in names and side == "output" and as_it_is:
            return ours
    return name


def _sided(name: str) -> tuple[str, str]:
    """Module of a name, and whether its input or its output is meant; TransformerLens's names are whole."""
    if bridged := BRIDGE.fullmatch(name):
        return bridged[1], f"{bridged[2]}put"
    module, _, side = name.rpartition(".")
    return (module, side) if side in ("input", "output") else (name, "output")


def _inside(inner: str, side: str, cfg: TransformerConfig) -> str | None:
    """The name within a layer of a module's input or output; None where there is none."""
    role = ROLES.get(inner)
    if inner == "post_attention_layernorm":
        is_glm4 = cfg.normalize_before and cfg.rotary_adjacent_pairs  # whose norm behind attention has another name
        role = "ln1_post" if cfg.use_normalization_before_and_after and not is_glm4 else "ln2"
    if role is None or cfg.post_norm:
        return None
    if inner == "attention" and cfg.mlm_act_fn is not None:  # ESM's normalises its input, and adds it
        return "hook_resid_pre" if side == "input" else "hook_resid_mid"
    return _input_hook(role, cfg) if side == "input" else _output_hook(role, inner, cfg)


def _input_hook(role: str, cfg: TransformerConfig) -> str | None:
    mid = "hook_resid_pre" if cfg.parallel_attn_mlp else "hook_resid_mid"
    shares_norm = cfg.parallel_attn_mlp and cfg.parallel_norms == 1
    read = ("attn.hook_in", "attn.hook_in" if shares_norm else "mlp.hook_in")
    reads = dict(zip(("attn", "mlp"), read if cfg.normalize_before else ("hook_resid_pre", mid), strict=True))
    return (reads | {"W_O": "attn.hook_z", "W_out": "mlp.hook_post", "ln1": "hook_resid_pre", "ln2": mid}).get(role)


def _output_hook(role: str, inner: str, cfg: TransformerConfig) -> str | None:
    is_bloom = cfg.post_embedding_ln and cfg.positional_embedding_type == "alibi"
    if is_bloom and inner in ("self_attention", "mlp"):  # they add their input, the stream
        return "hook_resid_mid" if role == "attn" else "hook_resid_post"
    normed = {"ln1": "attn.hook_in", "ln2": "mlp.hook_in"}
    added = {"attn": "hook_attn_out", "W_O": "hook_attn_out", "mlp": "hook_mlp_out", "W_out": "hook_mlp_out"}
    if cfg.use_normalization_before_and_after:
        added = {"ln1_post": "hook_attn_out", "ln2_post": "hook_mlp_out"}
    return normed.get(role) or (added.get(role) if cfg.residual_scale == 1.0 else None)
