"""Activation patching: the effect on one run's prediction of inserting each part of the other run.

Source: Vig et al. 2020 and Meng et al. 2022 (causal tracing); Heimersheim and Nanda 2024 on how to read it.
"""

from headlight.model.measure import Measure
from headlight.model.patching.grids import Kind, grid
from headlight.model.patching.runs import AT_ONCE, Patching


def patching_map(patching: Patching, kind: Kind, layer: int | None = None, at_once: int = AT_ONCE) -> Measure:
    """The share of the logit difference with each part patched alone: [layer, pos], [layer, head] or [head, pos].

    0 = A, 1 = B, whichever of them is patched. Positions after the one that is measured have no say, and are left out;
    NaN at those without a match in the other run.

    Raises:
        InputError: the model has no such part, or not even one variant fits in `at_once` bytes.
    """
    cells = grid(kind, patching.model.cfg, patching.reach, layer)
    differences = patching.differences(cells.variants, at_once)
    shares = patching.share(differences).reshape(cells.shape).cpu()
    return Measure("patched", "share", cells.axes, patching.only_matched(shares, cells.axes))
