"""Check whether a dictionary belongs to a model, and describe mismatches."""

from headlight.model.base.errors import CheckpointError, nearest
from headlight.model.nn.config import TransformerConfig
from headlight.model.runs.dictionary import Dictionary

STREAMS = ("hook_resid_pre", "hook_resid_mid", "hook_resid_post")
# Names of the MLP's and the heads' inputs in TransformerLens 3, SAELens and circuit-tracer, and their norms.
BEHIND_NORM = {"mlp.hook_in": "ln2", "attn.hook_in": "ln1"}
WIDE = ("hook_embed", "hook_pos_embed", "hook_attn_out", "hook_mlp_out", "ln1.hook_normalized", "ln2.hook_normalized")


def check_fits(dictionary: Dictionary, cfg: TransformerConfig) -> None:
    """Refuse a dictionary of another model, or of an activation that this one does not have or has in another width.

    Raises:
        CheckpointError: it says what does not fit, and what would.
    """
    for name, value in dictionary.origin.settings.items():
        if hasattr(cfg, name) and getattr(cfg, name) != value:
            raise CheckpointError(
                f"{dictionary.name} was trained on {dictionary.origin.model or 'a model'} with {name} {value!r}; this "
                f"model has {getattr(cfg, name)!r}."
            )
    widths = _widths(cfg)
    of_outputs = [(output.hook, output.W_dec.shape[1]) for output in dictionary.outputs]
    for output in dictionary.outputs:
        if output.hook.endswith(tuple(BEHIND_NORM)):
            raise CheckpointError(
                f"{dictionary.name} stands for {output.hook}, which is behind the gain of a norm: it has no name here. "
                "Take one of the stream before that norm."
            )
    for hook, width in [(dictionary.hook_in, dictionary.d_in), *of_outputs]:
        _check_hook(dictionary, hook, widths, cfg)
        if width != widths[hook]:
            raise CheckpointError(
                f"{dictionary.name} is {width} wide at {hook}; this model is {widths[hook]} wide there. It belongs to "
                f"{dictionary.origin.model or 'another model'}."
            )
    if dictionary.origin.folded and dictionary.hook_in.endswith("hook_z"):
        raise CheckpointError(
            f"{dictionary.name} was trained on a model whose values' biases had been folded into its output's, so that "
            "its heads mixed other values than here. Take one that was trained on weights as they are."
        )
    if dictionary.reading.centred and cfg.normalization_type not in ("LN", "LNPre"):
        raise CheckpointError(
            f"{dictionary.name} was trained on streams with a mean of 0; this model's norms do not take off the mean, "
            "so that its streams could not be centred."
        )


def _check_hook(dictionary: Dictionary, hook: str, widths: dict[str, int], cfg: TransformerConfig) -> None:
    if hook not in widths and hook.endswith(tuple(BEHIND_NORM)):
        raise CheckpointError(
            f"{dictionary.name} reads {hook}, which is behind the gain of the norm before it: open it with the "
            "model, whose gain is then a part of its reading (open_dictionary(name, model))."
        )
    if hook not in widths:
        raise CheckpointError(
            f"{dictionary.name} is of {hook}, which this model of {cfg.n_layers} layers does not have as something "
            f"that a dictionary can be of.{nearest(hook, widths)}"
        )


def _widths(cfg: TransformerConfig) -> dict[str, int]:
    """Every activation that a dictionary can be of, and how wide it is."""
    names = {"hook_embed": cfg.d_model, "hook_pos_embed": cfg.d_model, "ln_final.hook_normalized": cfg.d_model}
    for layer in range(cfg.n_layers):
        inside = dict.fromkeys((*STREAMS, *WIDE[2:]), cfg.d_model)
        inside |= {"attn.hook_z": cfg.n_heads * (cfg.d_value or cfg.d_head), "mlp.hook_post": cfg.d_mlp or 0}
        names |= {f"blocks.{layer}.{name}": width for name, width in inside.items()}
    return names
