"""Sparse dictionaries of a model's activations, autoencoders and transcoders: their files, and their features in a run.

The dataclass itself lies in `headlight.model.runs.dictionary`, since an edit of a run can change a feature.
"""

from headlight.model.features.fits import check_fits
from headlight.model.runs.dictionary import Dictionaries, Dictionary

__all__ = ["Dictionaries", "Dictionary", "check_fits"]
