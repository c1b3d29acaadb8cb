"""Canvas components: arrays in, what the user chose out.

Each folder is one component (python, js, css); `shared` holds what they have in common. Components of one `group` share
hover and pin in the browser, without a round trip to the server.
"""

from app.components.announcer import announcer
from app.components.beam_tree import BeamNode, BeamState, beam_tree
from app.components.head_grid import HeadIndex, head_grid
from app.components.head_steps import Followed, HeadStep, StepKeys, StepMatrix, followed, head_steps
from app.components.heads import HeadPanel, HeadPattern, Pin, TokenAxis, heads
from app.components.lens_grid import LensCells, LensColours, LensPin, lens_grid
from app.components.shared.coding import (
    decode_weights,
    encode_positive,
    encode_signed,
    encode_thumbnails,
    encode_weights,
)
from app.components.token_bars import StepClick, TokenChoice, WritingStep, clicked, token_bars
from app.components.token_strip import token_strip
from app.components.tour import Step, tour

__all__ = [
    "BeamNode",
    "BeamState",
    "Followed",
    "HeadIndex",
    "HeadPanel",
    "HeadPattern",
    "HeadStep",
    "LensCells",
    "LensColours",
    "LensPin",
    "Pin",
    "Step",
    "StepClick",
    "StepKeys",
    "StepMatrix",
    "TokenAxis",
    "TokenChoice",
    "WritingStep",
    "announcer",
    "beam_tree",
    "clicked",
    "decode_weights",
    "encode_positive",
    "encode_signed",
    "encode_thumbnails",
    "encode_weights",
    "followed",
    "head_grid",
    "head_steps",
    "heads",
    "lens_grid",
    "token_bars",
    "token_strip",
    "tour",
]
