"""Whether a dictionary belongs to a model; where it does not, what does not fit."""

from headlight.model.config import TransformerConfig
from headlight.model.dictionaries.dictionary import Dictionary
from headlight.model.errors import CheckpointError, nearest

STREAMS = ("hook_resid_pre", "hook_resid_mid", "hook_resid_post")
WIDE = ("hook_embed", "hook_pos_embed", "hook_attn_out", "hook_mlp_out", "ln1.hook_normalized", "ln2.hook_normalized")


def check_fits(dictionary: Dictionary, cfg: TransformerConfig) -> None:
    """Refuse a dictionary that is of an activation which this model does not have, or has with another width.

    Raises:
        CheckpointError: it says what does not fit, and what would.
    """
    widths = _widths(cfg)
    for hook, width in [(dictionary.hook_in, dictionary.d_in)] + [
        (output.hook, output.W_dec.shape[1]) for output in dictionary.outputs
    ]:
        if hook not in widths:
            raise CheckpointError(
                f"{dictionary.name} is of {hook}, which this model of {cfg.n_layers} layers does not have as "
                f"something that a dictionary can be of.{nearest(hook, widths)}"
            )
        if width != widths[hook]:
            raise CheckpointError(
                f"{dictionary.name} is {width} wide at {hook}; this model is {widths[hook]} wide there. It belongs to "
                f"{dictionary.origin.model or 'another model'}."
            )
    if dictionary.origin.centred or dictionary.origin.folded:
        raise CheckpointError(
            f"{dictionary.name} was trained on weights that TransformerLens had processed "
            f"({'centred' if dictionary.origin.centred else 'with norms folded in'}); here they are as they are in the "
            "checkpoint."
        )


def _widths(cfg: TransformerConfig) -> dict[str, int]:
    """Every activation that a dictionary can be of, and how wide it is."""
    names = {"hook_embed": cfg.d_model, "hook_pos_embed": cfg.d_model, "ln_final.hook_normalized": cfg.d_model}
    for layer in range(cfg.n_layers):
        inside = dict.fromkeys((*STREAMS, *WIDE[2:]), cfg.d_model)
        inside |= {"attn.hook_z": cfg.n_heads * (cfg.d_value or cfg.d_head), "mlp.hook_post": cfg.d_mlp or 0}
        names |= {f"blocks.{layer}.{name}": width for name, width in inside.items()}
    return names
