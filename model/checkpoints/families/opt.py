"""OPT folders: learned positions from the third row on, ReLU; some sizes normalise after each addition.

The smallest but one has embeddings narrower than the stream, and a matrix before and behind it. Embedding and
unembedding are then the products of the two matrices, computed once on opening.

Source: transformers' OPTConfig and modeling_opt.
"""

from typing import Any

from torch import Tensor

from headlight.model.checkpoints.architecture import UNEMBED, Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, embedding, heads, mlp, norm, sizes
from headlight.model.checkpoints.keys import DECODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, joined, linear, table
from headlight.model.nn.config import TransformerConfig

EMBEDDING = "decoder.embed_tokens.weight"
FIRST = 2  # the row of the first position


def settings(config: Any) -> dict[str, Any]:
    """Translate OPT's config to the fields of `TransformerConfig`."""
    of_all = sizes(config)
    return of_all | {
        "n_ctx": config.max_position_embeddings,
        "d_mlp": config.ffn_dim,
        "act_fn": activation(config.activation_function),
        "normalization_type": "LN" if config.layer_norm_elementwise_affine else "LNPre",
        "post_norm": not config.do_layer_norm_before,
        "tie_word_embeddings": of_all["tie_word_embeddings"] and not _is_narrow(config),
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map OPT's checkpoint tensors to parameter names."""
    weights = layers(cfg, lambda layer: _layer(cfg, config, layer), "decoder.layers.{}.")
    weights["pos_embed.W_pos"] = table("decoder.embed_positions.weight", cfg.n_ctx, cfg.d_model, FIRST)
    if not cfg.post_norm:
        weights |= _norm(cfg, "ln_final", "decoder.final_layer_norm")
    if _is_narrow(config):
        return weights | _narrow_embedding(cfg, config.word_embed_proj_dim)
    return weights | embedding(cfg, EMBEDDING)


def _is_narrow(config: Any) -> bool:
    return config.word_embed_proj_dim != config.hidden_size


def _narrow_embedding(cfg: TransformerConfig, width: int) -> WeightMap:
    rows = table(EMBEDDING, cfg.d_vocab, width)
    columns = linear(UNEMBED, width, cfg.d_vocab)
    return {
        "embed.W_E": joined(rows, linear("decoder.project_in.weight", width, cfg.d_model), by=_product),
        "unembed.W_U": joined(linear("decoder.project_out.weight", cfg.d_model, width), columns, by=_product),
    }


def _product(first: Tensor, second: Tensor) -> Tensor:
    """In float32 whatever the files hold: what they hold was not rounded twice."""
    return first.float() @ second.float()


def _layer(cfg: TransformerConfig, config: Any, at: str) -> WeightMap:
    biases = config.enable_bias
    return (
        _norm(cfg, "ln1", f"{at}self_attn_layer_norm")
        | heads(cfg, f"{at}self_attn.", "out_proj", biases, biases)
        | _norm(cfg, "ln2", f"{at}final_layer_norm")
        | mlp(cfg, f"{at}fc1", f"{at}fc2", biases)
    )


def _norm(cfg: TransformerConfig, ours: str, theirs: str) -> WeightMap:
    return norm(ours, theirs, cfg.d_model) if cfg.normalization_type == "LN" else {}


KEYS = Keys(
    (
        *(*READ, "max_position_embeddings", "ffn_dim", "activation_function", "do_layer_norm_before"),
        *("layer_norm_elementwise_affine", "enable_bias", "word_embed_proj_dim"),
    ),
    DECODER | {"_remove_final_layer_norm": (False,)},
)
FAMILY = Architecture("opt", settings, weight_map, KEYS, embedding=EMBEDDING).family
