"""Sparse dictionaries of a model's activations: autoencoders and transcoders, opened from the files of others."""

from headlight.model.dictionaries.dictionary import Dictionaries, Dictionary
from headlight.model.dictionaries.fits import check_fits
from headlight.model.dictionaries.opening import open_dictionary, shipped

__all__ = ["Dictionaries", "Dictionary", "check_fits", "open_dictionary", "shipped"]
