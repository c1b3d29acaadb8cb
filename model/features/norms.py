"""Dictionaries as they fit a model: activations by their names, and those behind a norm's gain before it.

What heads and MLPs read is what their norm gives times a gain, plus a bias; the activation with a name is before both.
"""

from dataclasses import replace

from headlight.model.base.errors import CheckpointError
from headlight.model.features.fits import BEHIND_NORM, check_fits
from headlight.model.features.hooks import translated
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionaries, Dictionary, Reading
from headlight.model.runs.linear import norm_of


def fitted(opened: Dictionaries, model: Transformer) -> Dictionaries:
    """Dictionaries as they fit a model: by the names of its activations, and brought before the gain of its norms.

    Raises:
        CheckpointError: one does not fit; it says what does not.
    """
    dictionaries = [before_gain(named(each, model), model) for each in opened.values()]
    for each in dictionaries:
        check_fits(each, model.cfg)
    return Dictionaries(opened.name, dictionaries)


def named(dictionary: Dictionary, model: Transformer) -> Dictionary:
    """A dictionary whose activations have the names that they have here.

    Raises:
        CheckpointError: one is of a module that gives nothing of that kind.
    """
    try:
        hook_in = translated(dictionary.hook_in, model.cfg)
        outputs = tuple(replace(each, hook=translated(each.hook, model.cfg)) for each in dictionary.outputs)
    except CheckpointError as error:
        raise CheckpointError(f"{dictionary.name} does not fit. {error}") from error
    return replace(dictionary, hook_in=hook_in, outputs=outputs)


def before_gain(dictionary: Dictionary, model: Transformer) -> Dictionary:
    """A dictionary of heads' or an MLP's input as one of `hook_normalized`, with the norm's gain and bias folded in.

    Any other dictionary is returned as it is.
    """
    before = next((norm for behind, norm in BEHIND_NORM.items() if dictionary.hook_in.endswith(behind)), None)
    if before is None or dictionary.layer >= model.cfg.n_layers:
        return dictionary
    norm = norm_of(model.block(dictionary.layer).get_submodule(before))
    if norm is None:  # the stream itself, as ModernBERT's first heads read it
        return (
            replace(dictionary, hook_in=f"blocks.{dictionary.layer}.hook_resid_pre") if before == "ln1" else dictionary
        )
    hook_in = f"blocks.{dictionary.layer}.{before}.hook_normalized"
    return replace(dictionary, hook_in=hook_in, reading=Reading(gain=norm.w, shift=norm.b))
