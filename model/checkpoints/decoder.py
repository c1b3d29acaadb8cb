"""Parts that many architectures share: sizes, LayerNorms with a bias, linear layers, separate or fused heads."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.architecture import UNEMBED
from headlight.model.checkpoints.weight_map import (
    WeightMap,
    WeightView,
    linear,
    reading,
    reading_bias,
    table,
    vector,
    writing,
)
from headlight.model.nn.config import TransformerConfig

READ = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "tie_word_embeddings")


def sizes(config: Any, n_key_value_heads: int | None = None) -> dict[str, Any]:
    """Translate the settings that every decoder's config has under the same names."""
    return {
        "n_layers": config.num_hidden_layers,
        "d_model": config.hidden_size,
        "n_heads": config.num_attention_heads,
        "n_key_value_heads": n_key_value_heads,
        "d_head": head_width(config),
        "d_vocab": config.vocab_size,
        "tie_word_embeddings": config.tie_word_embeddings,
        "attention_dir": "causal" if _is_causal(config) else "bidirectional",
    }


def window(config: Any) -> int | None:
    """The attention window in tokens; a bidirectional model's reaches as far to either side."""
    return config.sliding_window if _is_causal(config) or config.sliding_window is None else 2 * config.sliding_window


def _is_causal(config: Any) -> bool:
    return getattr(config, "is_causal", None) is not False


def head_width(config: Any) -> int:
    """The width of a head's queries and keys."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def norm(ours: str, theirs: str, width: int) -> WeightMap:
    """Gain and bias of a LayerNorm."""
    return {f"{ours}.w": vector(f"{theirs}.weight", width), f"{ours}.b": vector(f"{theirs}.bias", width)}


def embedding(cfg: TransformerConfig, name: str) -> WeightMap:
    """The token embedding, and the unembedding where it is not tied to it."""
    weights = {"embed.W_E": table(name, cfg.d_vocab, cfg.d_model)}
    return weights if cfg.tie_word_embeddings else weights | {"unembed.W_U": linear(UNEMBED, cfg.d_model, cfg.d_vocab)}


def outside(cfg: TransformerConfig, final_norm: str, embedded: str) -> WeightMap:
    """Parameters outside the layers: final LayerNorm, token embedding, and the unembedding where it is not tied."""
    return norm("ln_final", final_norm, cfg.d_model) | embedding(cfg, embedded)


def biased_unembedding(cfg: TransformerConfig) -> WeightMap:
    """The bias of an unembedding."""
    return {"unembed.b_U": vector("lm_head.bias", cfg.d_vocab)}


def mlp(cfg: TransformerConfig, into: str, out_of: str, bias: bool = True) -> WeightMap:
    """The two linear layers of an MLP."""
    d_mlp = cfg.d_mlp or 0
    weights = {
        "mlp.W_in": linear(f"{into}.weight", cfg.d_model, d_mlp),
        "mlp.W_out": linear(f"{out_of}.weight", d_mlp, cfg.d_model),
    }
    biases = {"mlp.b_in": vector(f"{into}.bias", d_mlp), "mlp.b_out": vector(f"{out_of}.bias", cfg.d_model)}
    return weights | biases if bias else weights


def heads(
    cfg: TransformerConfig,
    at: str,
    out: str,
    read_bias: bool = True,
    write_bias: bool = True,
    read: Sequence[str] = ("q_proj", "k_proj", "v_proj"),
) -> WeightMap:
    """Attention with separate linear layers for queries, keys and values, and an output layer named `out`."""
    weights = _writes(cfg, f"{at}{out}", write_bias)
    for role, called in zip("QKV", read, strict=True):
        name, n_heads = f"{at}{called}", cfg.n_heads if role == "Q" else cfg.n_shared
        weights[_ours("W", role, cfg)] = reading(f"{name}.weight", cfg.d_model, n_heads, cfg.d_head)
        if read_bias:
            weights[_ours("b", role, cfg)] = reading_bias(f"{name}.bias", n_heads, cfg.d_head)
    return weights


def fused_heads(cfg: TransformerConfig, read: str, out: str, bias: bool = True) -> WeightMap:
    """Attention with one fused linear layer, stored per group: its queries, then its key, then its value.

    Queries of several groups are not evenly strided, so that they alone are copied.
    """
    in_group = cfg.n_heads // cfg.n_shared
    laid_out = (cfg.n_shared, in_group + 2, cfg.d_head)
    n_rows, mapping = cfg.n_shared * (in_group + 2) * cfg.d_head, _writes(cfg, out, bias)
    for role, place in {"Q": slice(0, -2), "K": slice(-2, -1), "V": slice(-1, None)}.items():
        of_role = partial(_of_role, laid_out, place)
        weights = WeightView(f"{read}.weight", (n_rows, cfg.d_model), of_role)
        mapping[_ours("W", role, cfg)] = weights.then(lambda tensor: tensor.transpose(1, 2))
        if bias:
            mapping[_ours("b", role, cfg)] = WeightView(f"{read}.bias", (n_rows,), of_role)
    return mapping


def _of_role(laid_out: tuple[int, int, int], place: slice, tensor: Tensor) -> Tensor:
    return tensor.unflatten(0, laid_out)[:, place].flatten(0, 1)


def _writes(cfg: TransformerConfig, name: str, bias: bool) -> WeightMap:
    weights = {"attn.W_O": writing(f"{name}.weight", cfg.n_heads, cfg.d_head, cfg.d_model)}
    return weights | {"attn.b_O": vector(f"{name}.bias", cfg.d_model)} if bias else weights


def _ours(kind: str, role: str, cfg: TransformerConfig) -> str:
    """The parameter's name; keys and values of grouped-query attention have an underscore before it."""
    return f"attn._{kind}_{role}" if cfg.is_grouped and role != "Q" else f"attn.{kind}_{role}"
