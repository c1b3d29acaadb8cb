"""Edits of a run as plain data: what is changed on the way, where, whether that fits a run, and the same as a text.

`headlight.model.edits.editing` makes taps of them.
"""

from headlight.model.edits.checks import MOST_FACTOR, check
from headlight.model.edits.kinds import (
    KINDS,
    MOST_EDITS,
    SHARED,
    AblateHeads,
    Ablation,
    CutEdge,
    Drop,
    Edit,
    FreezePatterns,
    Head,
    Part,
    Patch,
    Steer,
    Steering,
    describe,
    follows_stream,
    head_name,
    layer_of,
    sources,
    told_sharing,
    touches,
)
from headlight.model.edits.texts import MOST_PROMPTS, from_text, prompts_from_text, prompts_to_text, to_text

__all__ = [
    "KINDS",
    "MOST_EDITS",
    "MOST_FACTOR",
    "MOST_PROMPTS",
    "SHARED",
    "AblateHeads",
    "Ablation",
    "CutEdge",
    "Drop",
    "Edit",
    "FreezePatterns",
    "Head",
    "Part",
    "Patch",
    "Steer",
    "Steering",
    "check",
    "describe",
    "follows_stream",
    "from_text",
    "head_name",
    "layer_of",
    "prompts_from_text",
    "prompts_to_text",
    "sources",
    "to_text",
    "told_sharing",
    "touches",
]
