"""Reading what an MLP reads as what its norm gives before gain and bias, which is the activation that has a name."""

from dataclasses import replace

from headlight.model.dictionaries.dictionary import Dictionaries, Dictionary, Reading
from headlight.model.dictionaries.fits import BEHIND_NORM, check_fits
from headlight.model.linear import norm_of
from headlight.model.transformer import Transformer


def fitted(opened: Dictionaries, model: Transformer) -> Dictionaries:
    """Dictionaries as they fit a model, those that read what its MLPs read brought before the gain of their norms.

    Raises:
        CheckpointError: one does not fit; it says what does not.
    """
    found = [before_gain(each, model) for each in opened.values()]
    for each in found:
        check_fits(each, model.cfg)
    return Dictionaries(opened.name, found)


def before_gain(dictionary: Dictionary, model: Transformer) -> Dictionary:
    """A dictionary of what an MLP reads as one of `ln2.hook_normalized`: the norm's gain and bias are its reading.

    Any other dictionary is given back as it is.
    """
    if not dictionary.hook_in.endswith(BEHIND_NORM) or dictionary.layer >= model.cfg.n_layers:
        return dictionary
    norm = norm_of(model.block(dictionary.layer).get_submodule("ln2"))
    if norm is None:
        return dictionary
    hook_in = f"blocks.{dictionary.layer}.ln2.hook_normalized"
    return replace(dictionary, hook_in=hook_in, reading=Reading(gain=norm.w, shift=norm.b))
