"""Activation patching: replace a part of a run by another run's, and measure the prediction again.

    question = LogitDifference(target, distractor, position)
    patching = Patching(model, tokens_a, tokens_b, question)
    exact = patching_map(patching, "z")
    estimate = attribution_map(patching, "z")
    paths = path_map(patching, receiver=(1, 0), read="k")

Every number is a share: 0 where the prediction is as in A, 1 where it is as in B, and beyond where it is neither.
"""

from headlight.model.patching.attribution import attribution_map, rank_correlation
from headlight.model.patching.cells import EVERY_HEAD, KINDS, PATHS, Cells, Parts, PatchMap
from headlight.model.patching.grids import Grid, Kind, Variant, grid, operations
from headlight.model.patching.maps import patching_map
from headlight.model.patching.of_runs import matches_of, patch_runs
from headlight.model.patching.paths import ReadAs, path_differences, path_map
from headlight.model.patching.runs import AT_ONCE, Patching
from headlight.model.patching.sides import LogitDifference, differing

__all__ = [
    "AT_ONCE",
    "EVERY_HEAD",
    "KINDS",
    "PATHS",
    "Cells",
    "Grid",
    "Kind",
    "LogitDifference",
    "Parts",
    "PatchMap",
    "Patching",
    "ReadAs",
    "Variant",
    "attribution_map",
    "differing",
    "grid",
    "matches_of",
    "operations",
    "patch_runs",
    "patching_map",
    "path_differences",
    "path_map",
    "rank_correlation",
]
