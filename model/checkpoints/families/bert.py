"""BERT folders, and the parts that other encoders share with BERT.

Source: transformers' BertConfig and modeling_bert.
"""

from typing import Any

from headlight.model.checkpoints import decoder
from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import heads, mlp, norm, sizes
from headlight.model.checkpoints.keys import ENCODER, Keys
from headlight.model.checkpoints.weight_map import WeightMap, linear, table, vector
from headlight.model.nn.config import TransformerConfig

EMBEDDING = "embeddings.word_embeddings.weight"
READ = (
    *(*decoder.READ, "max_position_embeddings", "type_vocab_size", "intermediate_size", "hidden_act"),
    "layer_norm_eps",
)
LAYER = "encoder.layer.{}."
# Buffers, copies of a bias under a second name, and heads for other tasks.
IGNORED = r"embeddings\.position_ids|pooler\..*|cls\.predictions\.(decoder\.)?bias|cls\.seq_relationship\..*"


def settings(config: Any) -> dict[str, Any]:
    """Translate BERT's config to the fields of `TransformerConfig`."""
    return encoder(config) | {
        "n_token_types": config.type_vocab_size,
        "act_fn": activation(config.hidden_act),
        "mlm_act_fn": activation(config.hidden_act),
        "d_mlp": config.intermediate_size,
        "eps": config.layer_norm_eps,
    }


def encoder(config: Any) -> dict[str, Any]:
    """Settings that BERT-like encoders share: bidirectional attention, and a norm after each residual sum."""
    return sizes(config) | {
        "n_ctx": config.max_position_embeddings,
        "attention_dir": "bidirectional",
        "post_norm": True,
        "embeddings_ln": True,
        "output_bias": True,
    }


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map BERT's checkpoint tensors to parameter names."""
    at = "cls.predictions."
    head = mlm_head(cfg, f"{at}transform.dense", f"{at}transform.LayerNorm")
    return (
        embeddings(cfg)
        | layers(cfg, lambda at: layer(cfg, at), LAYER)
        | head
        | unembed(cfg, f"{at}decoder", f"{at}bias")
    )


def embeddings(cfg: TransformerConfig, first_position: int = 0) -> WeightMap:
    """Embeddings of tokens, positions and token types, and the norm of their sum.

    The stored table of positions has `first_position` unused rows first.
    """
    at, width = "embeddings.", cfg.d_embed or 0
    weights = {
        "embed.W_E": table(EMBEDDING, cfg.d_vocab, width),
        "pos_embed.W_pos": table(f"{at}position_embeddings.weight", cfg.n_ctx, width, first_position),
        **norm("embed_ln", f"{at}LayerNorm", width),
    }
    if cfg.n_token_types is not None:
        weights["token_type_embed.W_token_type"] = table(f"{at}token_type_embeddings.weight", cfg.n_token_types, width)
    return weights


def layer(cfg: TransformerConfig, at: str) -> WeightMap:
    """A layer's attention, MLP and norms."""
    return {
        **heads(cfg, f"{at}attention.", "output.dense", read=("self.query", "self.key", "self.value")),
        **norm("ln1", f"{at}attention.output.LayerNorm", cfg.d_model),
        **mlp(cfg, f"{at}intermediate.dense", f"{at}output.dense"),
        **norm("ln2", f"{at}output.LayerNorm", cfg.d_model),
    }


def mlm_head(cfg: TransformerConfig, dense: str, layer_norm: str) -> WeightMap:
    """The transform before the unembedding, by the names of its Linear and its norm."""
    width = cfg.d_embed or 0
    return {
        "mlm_head.W": linear(f"{dense}.weight", cfg.d_model, width),
        "mlm_head.b": vector(f"{dense}.bias", width),
        **norm("mlm_head.ln", layer_norm, width),
    }


def unembed(cfg: TransformerConfig, own: str, tied_bias: str) -> WeightMap:
    """The unembedding: a Linear of its own, or the embedding and a bias."""
    if cfg.tie_word_embeddings:
        return {"unembed.b_U": vector(tied_bias, cfg.d_vocab)}
    weight = linear(f"{own}.weight", cfg.d_embed or 0, cfg.d_vocab)
    return {"unembed.W_U": weight, "unembed.b_U": vector(f"{own}.bias", cfg.d_vocab)}


FAMILY = Architecture(
    "bert",
    settings,
    weight_map,
    Keys(READ, ENCODER),
    prefix="bert.",
    embedding=EMBEDDING,
    ignored=IGNORED,
    unembed="cls.predictions.decoder.weight",
    twins=(("cls.predictions.bias", "cls.predictions.decoder.bias"),),
).family
