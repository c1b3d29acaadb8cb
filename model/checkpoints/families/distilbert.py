"""DistilBERT folders: BERT's layers under other names, without token types.

Source: transformers' DistilBertConfig and modeling_distilbert.
"""

from typing import Any

from headlight.model.checkpoints.architecture import Architecture, activation, layers
from headlight.model.checkpoints.decoder import READ, heads, mlp, norm
from headlight.model.checkpoints.families import bert
from headlight.model.checkpoints.keys import Keys
from headlight.model.checkpoints.weight_map import WeightMap
from headlight.model.nn.config import TransformerConfig

EPS = 1e-12  # of every norm; no config tells it


def settings(config: Any) -> dict[str, Any]:
    """Translate DistilBERT's config to the fields of `TransformerConfig`."""
    act_fn = activation(config.activation)
    return bert.encoder(config) | {"d_mlp": config.hidden_dim, "act_fn": act_fn, "mlm_act_fn": act_fn, "eps": EPS}


def weight_map(cfg: TransformerConfig, config: Any) -> WeightMap:
    """Map DistilBERT's checkpoint tensors to parameter names."""
    weights = bert.embeddings(cfg) | layers(cfg, lambda at: layer(cfg, at), "transformer.layer.{}.")
    weights |= bert.mlm_head(cfg, "vocab_transform", "vocab_layer_norm")
    return weights | bert.unembed(cfg, "vocab_projector", "vocab_projector.bias")


def layer(cfg: TransformerConfig, at: str) -> WeightMap:
    """A layer's attention, MLP and norms."""
    return {
        **heads(cfg, f"{at}attention.", "out_lin", read=("q_lin", "k_lin", "v_lin")),
        **norm("ln1", f"{at}sa_layer_norm", cfg.d_model),
        **mlp(cfg, f"{at}ffn.lin1", f"{at}ffn.lin2"),
        **norm("ln2", f"{at}output_layer_norm", cfg.d_model),
    }


FAMILY = Architecture(
    "distilbert",
    settings,
    weight_map,
    Keys((*READ, "max_position_embeddings", "sinusoidal_pos_embds", "hidden_dim", "activation"), {}),
    prefix="distilbert.",
    embedding=bert.EMBEDDING,
    ignored=r"embeddings\.position_ids",
    unembed="vocab_projector.weight",
).family
