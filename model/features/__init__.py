"""Sparse dictionaries of a model's activations: autoencoders and transcoders.

`opening` opens them from the files of others; it is not imported here, because runs, which edit features, come before
the readers of files.
"""

from headlight.model.features.fits import check_fits
from headlight.model.runs.dictionary import Dictionaries, Dictionary

__all__ = ["Dictionaries", "Dictionary", "check_fits"]
