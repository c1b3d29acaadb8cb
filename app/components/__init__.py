"""Canvas components: arrays in, what the user chose out.

Each folder is one component (python, js, css); `shared` holds what they have in common. Components of one `group` share
hover and pin in the browser, without a round trip to the server.
"""

from app.components.head_grid import HeadIndex, head_grid
from app.components.heads import HeadPattern, Pin, heads
from app.components.lens_grid import LensCells, LensPin, lens_grid
from app.components.shared.coding import decode_weights, encode_thumbnails, encode_weights
from app.components.token_strip import token_strip

__all__ = [
    "HeadIndex",
    "HeadPattern",
    "LensCells",
    "LensPin",
    "Pin",
    "decode_weights",
    "encode_thumbnails",
    "encode_weights",
    "head_grid",
    "heads",
    "lens_grid",
    "token_strip",
]
