"""What patching gives, to be seen before there is a B: the map of the example with two names, in `mini`."""

import numpy as np

from headlight.app.components import CellMap
from headlight.app.parts.grid import head_axes

# Each head's output from “… the shop, John gave a drink to” put into “… the shop, Mary gave a drink to”.
SHARES = np.array(
    [
        [0.002, -0.003, -0.005, 0.009],
        [0.001, 0.001, 1.024, -0.004],
        [0.008, 0.007, -0.003, -0.008],
        [-0.001, 0.013, 0.004, -0.003],
    ]
)
CAPTION = "What you will get: how much of the other answer each head brings along."
TITLE = "normalized logit difference (0 = A, 1 = B)"


def drawn() -> CellMap:
    """The map of all heads."""
    return CellMap(SHARES, *head_axes(SHARES.shape), title=TITLE, scale="signed", ends=(0.0, 1.1))
